#include "runtime/model/load.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/device/host_device.h"

namespace assay::runtime {
namespace {

// Refuses mapping number `fail_at`, counted from 0.
class FailingDevice final : public NpuDevice {
 public:
  explicit FailingDevice(std::size_t fail_at) : fail_at_(fail_at) {}

  Result<Mapping> map(std::uint64_t bytes, Placement placement) override {
    if (maps_++ == fail_at_) {
      return fail(ErrorKind::exhausted, "npu_dma_map_error: cannot map 1 bytes", "npu0", "flush");
    }
    return host_.map(bytes, placement);
  }
  void unmap(std::uint64_t id) override {
    ++unmaps_;
    host_.unmap(id);
  }
  std::uint64_t max_chunk_bytes() const override { return host_.max_chunk_bytes(); }
  Result<> pool_flush() override { return {}; }
  Result<> pool_defragment() override { return {}; }
  PoolInfo pool_info() const override { return host_.pool_info(); }
  void set_active_units(unsigned) override {}
  unsigned units() const override { return 1; }
  void pace(std::int64_t) override {}

  std::size_t unmaps() const { return unmaps_; }

 private:
  HostDevice host_;
  std::size_t fail_at_;
  std::size_t maps_ = 0;
  std::size_t unmaps_ = 0;
};

Layout moe_layout() {
  return plan_layout(find_shape("moe-small").value(), find_precision("int4").value(), 1, 1 << 30)
      .value();
}

TEST(Load, aMappingThatFailsReleasesThoseBeforeIt) {
  WorkerPool pool(1);
  const std::size_t mappings = moe_layout().mappings.size();
  ASSERT_EQ(mappings, 65U);
  for (std::size_t k = 0; k < mappings; ++k) {
    FailingDevice device(k);
    const auto model = load(device, moe_layout(), 1, pool, CancelToken{}, {});
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().kind, ErrorKind::exhausted);
    EXPECT_EQ(model.error().text(), "npu0: npu_dma_map_error: cannot map 1 bytes; flush");
    EXPECT_EQ(device.unmaps(), k);
    EXPECT_EQ(device.pool_info().live_mappings, 0U);
  }
}

TEST(Load, releasesItsMappingsOnceEvenWhenMoved) {
  WorkerPool pool(1);
  FailingDevice device(1000);
  {
    auto model = load(device, moe_layout(), 1, pool, CancelToken{}, {});
    ASSERT_TRUE(model);
    EXPECT_EQ(device.pool_info().live_mappings, 65U);
    const LoadedModel moved = std::move(*model);
    EXPECT_EQ(moved.mapped_blocks(), 65U);
    EXPECT_EQ(moved.weights().layers.size(), 1U);
    EXPECT_EQ(moved.weights().layers[0].blocks.size(), 16U);
  }
  EXPECT_EQ(device.unmaps(), 65U);
  EXPECT_EQ(device.pool_info().live_mappings, 0U);
}

TEST(Load, cancellingReleasesEverything) {
  WorkerPool pool(2);
  HostDevice device;
  CancelToken cancel;
  const auto model =
      load(device, moe_layout(), 1, pool, cancel, [&](auto, auto) { cancel.cancel(); });
  // With two threads the other one may already have filled the rest.
  if (!model) {
    EXPECT_EQ(model.error().kind, ErrorKind::cancelled);
    EXPECT_EQ(device.pool_info().live_mappings, 0U);
  }
  const auto never_begun = load(device, moe_layout(), 1, pool, cancel, {});
  ASSERT_FALSE(never_begun);
  EXPECT_EQ(never_begun.error().kind, ErrorKind::cancelled);
}

// The true widths and the true mapping of 21.3 GB; memory is taken for what is filled alone.
TEST(Load, aLargeModelNeedsOnlyThePagesItTouches) {
  HostDevice device;
  const auto layout = plan_layout(find_shape("dense-27b").value(),
                                  find_precision("mixed-fp8").value(), 1, device.max_chunk_bytes());
  ASSERT_TRUE(layout);
  const auto mapping = device.map(layout->mappings[0].bytes, layout->mappings[0].placement);
  ASSERT_TRUE(mapping);
  EXPECT_GT(mapping->memory.size(), 21'200'000'000U);
  EXPECT_EQ(mapping->memory.back(), std::byte{0});
}

}  // namespace
}  // namespace assay::runtime
