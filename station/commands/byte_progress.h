// A line on the terminal that tells how far long work on bytes is, from its first second on.
#pragma once

#include <cstdint>

namespace assay::station {

// On standard error, where that is a terminal; gone with the object. Used by one thread.
class ByteProgress {
 public:
  // `total` 0: not known.
  explicit ByteProgress(std::uint64_t total);
  ~ByteProgress();
  ByteProgress(const ByteProgress&) = delete;
  ByteProgress& operator=(const ByteProgress&) = delete;

  // Cheap: it draws four times a second.
  void show(std::uint64_t done);

 private:
  std::uint64_t total_;
  bool is_terminal_;
  std::int64_t begin_ns_;
  std::int64_t shown_ns_ = 0;
  bool shown_ = false;
};

}  // namespace assay::station
