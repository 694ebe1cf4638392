// The device of a machine without an NPU: its memory is the machine's own, and any mapping is
// contiguous enough. Pages that nobody touches cost nothing, so mappings larger than the RAM are
// possible.
#pragma once

#include <map>
#include <mutex>

#include "runtime/device/npu_device.h"

namespace assay::runtime {

class HostDevice final : public NpuDevice {
 public:
  HostDevice() = default;
  // Mappings that are left are released.
  ~HostDevice() override;
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  Result<Mapping> map(std::uint64_t bytes, Placement placement) override;
  void unmap(std::uint64_t id) override;
  std::uint64_t max_chunk_bytes() const override { return std::uint64_t{1} << 46; }

  // There is no pool: ErrorKind::unavailable.
  Result<> pool_flush() override;
  Result<> pool_defragment() override;
  PoolInfo pool_info() const override;

  void set_active_units(unsigned) override {}
  unsigned units() const override { return 1; }
  void pace(std::int64_t) override {}

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::span<std::byte>> mappings_;
  std::uint64_t next_id_ = 1;
};

}  // namespace assay::runtime
