// The root under which /proc, /sys, /etc, /dev are read: "/" for the machine itself, a folder for
// the virtual board or for a captured tree. Paths are absolute as the kernel shows them
// ("/proc/buddyinfo"); symbolic links and ".." never lead out of the root.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace assay {

class Machine {
 public:
  explicit Machine(std::string root = "/");

  const std::string& root() const { return root_; }
  // True when this is the running machine, whose RAM and devices can be touched.
  bool is_real() const { return root_ == "/"; }

  // Opens below the root. `flags` as for open(2); O_CLOEXEC is added.
  Result<UniqueFd> open(const std::string& path, int flags) const;

  // The whole file; more than `max_bytes` is an error, so is a read that fails in the middle.
  Result<std::string> read(const std::string& path, std::size_t max_bytes = 1 << 20) const;
  // The file without white space at its end.
  Result<std::string> read_line(const std::string& path) const;
  // The file as one decimal number.
  Result<std::int64_t> read_integer(const std::string& path) const;
  // Names in a folder, sorted, without "." and "..".
  Result<std::vector<std::string>> list(const std::string& path) const;
  bool exists(const std::string& path) const;

  // Where the path lies for programs outside (a serial port to open).
  std::string host_path(const std::string& path) const;

 private:
  std::string root_;
};

}  // namespace assay
