// Memory to be tested: real RAM of this machine. The one place where a simulated fault can get in,
// at the edge where the hardware ends: between what was written and what is read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/machine.h"
#include "base/result.h"
#include "base/worker_pool.h"
#include "probes/memory/line_kernel.h"

namespace assay::probes {

class Ram {
 public:
  virtual ~Ram() = default;
  // What this memory does beyond keeping what is written; null when it does nothing.
  virtual LineHook* hook() { return nullptr; }

  // Bytes that a test can take now: MemAvailable, and what a cgroup leaves, less a reserve for the
  // rest of the system (5 %, at least 256 MiB).
  Result<std::uint64_t> available() const;
  // The same without a reserve: below half of the smallest one a test must give back what it has
  // before the kernel looks for something to kill.
  virtual Result<std::uint64_t> usable() const;
  static constexpr std::uint64_t least_usable = std::uint64_t{128} << 20;
  // MemTotal: what the kernel has to give.
  Result<std::uint64_t> total() const;
};

// Memory as it is.
class RealRam final : public Ram {};

// An anonymous mapping with every page present and, where the limits allow, locked.
class RamRegion {
 public:
  // Looked at between pieces of some milliseconds, from any worker: bytes present so far. False
  // gives up.
  using KeepGoing = std::function<bool(std::size_t present)>;

  // `bytes` is rounded up to pages. The pool must outlive the region, which is given back by its
  // threads: not from within one of its runs. Gives up while `ram` still has half the reserve.
  // Errors: exhausted; cancelled.
  static Result<RamRegion> allocate(std::size_t bytes, WorkerPool& workers,
                                    const KeepGoing& keep_going, const Ram& ram = RealRam());
  RamRegion(RamRegion&& other) noexcept;
  RamRegion& operator=(RamRegion&&) = delete;
  RamRegion(const RamRegion&) = delete;
  ~RamRegion();

  std::span<std::byte> bytes() const { return {data_, size_}; }
  // What the destructor does, by the caller's thread alone: also from within a run of the pool.
  void give_back();
  bool locked() const { return locked_; }

 private:
  RamRegion(std::byte* data, std::size_t size, WorkerPool& workers)
      : data_(data), size_(size), workers_(&workers) {}

  std::byte* data_;
  std::size_t size_;
  WorkerPool* workers_;
  bool locked_ = false;
};

// The same from the files under `machine`: what Ram reads of the machine that it runs on.
Result<std::uint64_t> available_memory(const Machine& machine);
Result<std::uint64_t> usable_memory(const Machine& machine);
Result<std::uint64_t> total_memory(const Machine& machine);
// Of the first processor's caches (kernel documentation, ABI/testing/sysfs-devices-system-cpu);
// none when the kernel does not tell.
std::optional<std::uint64_t> largest_cache(const Machine& machine);

}  // namespace assay::probes
