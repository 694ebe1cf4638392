// A page that the power_cut program and cutshim.so, inside QEMU, have in common: which write to the
// flash chip's file is to be the last one, and which one was.
#pragma once

#include <atomic>
#include <cstdint>

namespace assay::test {

struct CutControl {
  // Counts down with each write of `size` bytes; at 0 that write is cut off. Negative: none is.
  std::atomic<std::int64_t> writes_left;
  std::atomic<std::uint64_t> size;
  std::atomic<std::uint64_t> let_through;  // bytes of it that still reach the file

  // The write that goes on, or was cut off; size 0: none.
  std::atomic<std::uint64_t> current_offset;
  std::atomic<std::uint64_t> current_size;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace assay::test
