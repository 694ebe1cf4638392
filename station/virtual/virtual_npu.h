// The NPU driver of a virtual board: the board's DMA rules over its page frames. The memory that
// stands behind a mapping is this machine's, taken page by page as it is touched.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>

#include "runtime/device/host_device.h"
#include "runtime/device/npu_device.h"
#include "station/virtual/page_frames.h"

namespace assay::station {

struct VirtualNpuRules {
  unsigned units = 1;
  std::uint64_t max_chunk_bytes = 0;
  bool contiguous = true;  // one mapping is one run of pages
  // The firmware joins blocks past the largest order; asked at each mapping: it may be updated.
  std::function<bool()> large_pages = [] { return false; };
};

class VirtualNpu final : public runtime::NpuDevice {
 public:
  VirtualNpu(PageFrames frames, VirtualNpuRules rules);

  Result<runtime::Mapping> map(std::uint64_t bytes, runtime::Placement placement) override;
  void unmap(std::uint64_t id) override;
  std::uint64_t max_chunk_bytes() const override { return rules_.max_chunk_bytes; }
  Result<> pool_flush() override;
  Result<> pool_defragment() override;
  runtime::PoolInfo pool_info() const override;
  void set_active_units(unsigned units) override { active_units_ = units; }
  unsigned units() const override { return rules_.units; }
  void pace(std::int64_t elapsed_ns) override;

  // The board's side.
  unsigned active_units() const { return active_units_; }
  // 1.0 is the nominal clock.
  void set_clock(double ratio) { clock_ratio_ = ratio; }
  std::string buddyinfo() const;
  // Changes whenever pool_info() or buddyinfo() may.
  std::uint64_t generation() const { return generation_; }

 private:
  struct Live {
    std::vector<PageFrames::Run> runs;
    std::uint64_t host_id = 0;
  };

  VirtualNpuRules rules_;
  runtime::HostDevice host_;
  mutable std::mutex mutex_;
  PageFrames frames_;
  std::map<std::uint64_t, Live> live_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<unsigned> active_units_{0};
  std::atomic<double> clock_ratio_{1.0};
};

}  // namespace assay::station
