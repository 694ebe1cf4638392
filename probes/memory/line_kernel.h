// The kernels of a memory test on real memory, as wide as the processor goes (Google Highway,
// run-time dispatch). A cell is a line of 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "probes/memory/algorithm.h"
#include "probes/memory/background.h"

namespace assay::probes {

struct LineOperation {
  bool write = false;
  Select select = Select::all;
  std::uint16_t id = 0;  // comes back with a mismatch
  const LineData* data = nullptr;
};

// A word that was not what it had to be, as it was read the first time.
struct Mismatch {
  std::uint64_t offset = 0;  // in the region, bytes
  std::uint64_t expected = 0;
  std::uint64_t actual = 0;
  std::uint64_t again = 0;  // read once more at once, past the caches
  std::uint16_t operation = 0;
  int processor = -1;
  std::int64_t wall_ns = 0;
};

struct Mismatches {
  std::vector<Mismatch> list;  // the first `most`
  std::uint64_t count = 0;     // of all
  std::size_t most = 0;
};

// The edge where the hardware ends: what a simulated fault does to real memory. Called for the
// lines that it names, in the order of the accesses, from the thread that makes them.
class LineHook {
 public:
  virtual ~LineHook() = default;
  // Sorted, for a region of that many lines.
  virtual std::span<const std::size_t> lines(std::size_t lines_in_region) = 0;
  virtual void written(std::byte* region, std::size_t line) = 0;
  virtual void about_to_read(std::byte* region, std::size_t line) = 0;
  // It was flushed from the caches, and what was written there has arrived.
  virtual void flushed(std::byte*, std::size_t) {}
  // Two lines are read in turn, that often. Returns the nanoseconds of a turn; 0 when it simulates
  // no rows, and the memory itself is to be read.
  virtual double read_in_turn(std::byte*, std::size_t, std::size_t, std::uint64_t) { return 0; }
};

struct LinePass {
  Order order = Order::any;
  Flush flush = Flush::none;  // not automatic
  std::span<const LineOperation> operations;
};

// Runs the pass over lines [first, last) of `region`, which is aligned to 64 bytes. Streaming
// stores are fenced before the function returns. Different ranges may be run by different threads
// at once.
void run_lines(std::byte* region, std::size_t first, std::size_t last, const LinePass& pass,
               std::span<const std::size_t> hooked, LineHook* hook, Mismatches& mismatches);

// Copies `count` lines by streaming stores, fenced at the end. The two do not overlap.
void copy_lines(std::byte* region, std::size_t from, std::size_t to, std::size_t count);

// Compares `count` lines from `first` with what `data` has for lines from `as` on.
void verify_lines(std::byte* region, std::size_t first, std::size_t count, std::size_t as,
                  const LineOperation& operation, Mismatches& mismatches);

// Flushed lines between an element's phases: 4 KiB.
inline constexpr std::size_t flush_batch_lines = 64;

// The name of the instruction set in use: "AVX2".
const char* line_kernel_target();

}  // namespace assay::probes
