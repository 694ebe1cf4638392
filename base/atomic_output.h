// A file that is written in pieces and appears whole, or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace assay {

enum class Durability {
  visible,  // readers see old or new, never half
  synced,   // and it survives a power cut: file and folder are synced
};

// Written beside its path, into a file of a name that nobody has, which commit() renames. Without a
// commit it is removed. The mode is that of the file before, or 0644 less the umask. A link to a
// file stays one; folders, devices, pipes and sockets are refused. Used by one thread.
//
// Errors: usage (a name that cannot be a file's), and fail_errno()'s; all name the path asked for.
class AtomicOutput {
 public:
  static Result<AtomicOutput> create(const std::string& path);
  AtomicOutput(AtomicOutput&& other) noexcept;
  AtomicOutput& operator=(AtomicOutput&&) = delete;
  AtomicOutput(const AtomicOutput&) = delete;
  AtomicOutput& operator=(const AtomicOutput&) = delete;
  ~AtomicOutput();

  // Behind what was written so far.
  Result<> write(std::span<const std::byte> bytes);
  // Over what was written before: a header whose figures are known at the end.
  Result<> write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // Bytes written by write().
  std::uint64_t size() const { return size_; }

  // Once, as the last call.
  Result<> commit(Durability durability = Durability::synced);

 private:
  AtomicOutput(UniqueFd fd, std::string temporary, std::string target, std::string path);

  UniqueFd fd_;
  std::string temporary_;  // empty: nothing to remove
  std::string target_;     // what a link leads to
  std::string path_;       // as it was asked for
  std::uint64_t size_ = 0;
};

}  // namespace assay
