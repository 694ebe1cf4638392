// A log as a file or a pipe, block by block.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/fd.h"
#include "base/result.h"

namespace assay::station {

class LogFile {
 public:
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;

  // "-" is standard input. Errors, all of kind bad_file: it cannot be opened or read, is a folder
  // or a device, or is no text (compressed, or the journal's own format).
  static Result<LogFile> open(const std::string& path);

  const std::string& name() const { return name_; }
  // 0: unknown, as of a pipe.
  std::uint64_t size() const { return size_; }

  // Hands over block after block to its end or until the token is cancelled, which is looked at
  // between blocks and while a pipe has nothing to give. False when it was cancelled.
  Result<bool> read(const CancelToken& cancel,
                    const std::function<void(std::string_view block)>& on_block);

 private:
  LogFile(UniqueFd fd, std::string name, std::uint64_t size)
      : fd_(std::move(fd)), name_(std::move(name)), size_(size) {}

  UniqueFd fd_;
  std::string name_;
  std::uint64_t size_;
};

}  // namespace assay::station
