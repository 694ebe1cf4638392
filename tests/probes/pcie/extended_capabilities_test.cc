#include "probes/pcie/extended_capabilities.h"

#include <gtest/gtest.h>

#include "probes/pcie/config_space.h"
#include "tests/probes/pcie/config_bytes.h"

namespace assay::probes {
namespace {

using test::ConfigBytes;

// A function of four lanes with a capability at 0x100 alone.
ConfigBytes with_capability(unsigned id, std::size_t size = 4096) {
  ConfigBytes config(size);
  config.pci_express(0x40, 0, 4 | 4 << 4, 0x43);
  return config.u32(0x100, id | 1U << 16);
}

PciFunction whole_function(const ConfigBytes& config) {
  return decode_config_space(config.bytes(), "0000:01:00.0").value();
}

// Values by hand from PCI Express Base 5.0, 7.7.5 (Physical Layer 16.0 GT/s).
TEST(ExtendedCapabilities, physicalLayer16GTs) {
  const auto f = whole_function(with_capability(0x26)
                                    .u32(0x10C, 0x0F)  // 16.0 GT/s Status: complete, phases 1 to 3
                                    .u32(0x110, 0x2)
                                    .u32(0x114, 0x4)
                                    .u32(0x118, 0x8));
  ASSERT_TRUE(f.extended.physical_16gts);
  EXPECT_TRUE(f.extended.physical_16gts->equalization_complete());
  EXPECT_EQ(f.extended.physical_16gts->local_parity_mismatch, 0x2U);
  EXPECT_EQ(f.extended.physical_16gts->first_retimer_parity_mismatch, 0x4U);
  EXPECT_EQ(f.extended.physical_16gts->second_retimer_parity_mismatch, 0x8U);
}

// 7.7.7 (Lane Margining at the Receiver): port registers, then control and status of each lane.
TEST(ExtendedCapabilities, laneMargining) {
  const auto f = whole_function(with_capability(0x27)
                                    .u16(0x104, 0x1)  // Margining uses Driver Software
                                    .u16(0x106, 0x3)  // Margining Ready, Margining Software Ready
                                    .u16(0x10C, 0x9C38)
                                    .u16(0x10E, 0x5538));
  ASSERT_TRUE(f.extended.margining);
  EXPECT_TRUE(f.extended.margining->needs_driver());
  EXPECT_TRUE(f.extended.margining->ready());
  EXPECT_TRUE(f.extended.margining->software_ready());
  ASSERT_EQ(f.extended.margining->lanes.size(), 4U);
  EXPECT_EQ(f.extended.margining->lanes[1].control, 0x9C38U);
  EXPECT_EQ(f.extended.margining->lanes[1].status, 0x5538U);
}

TEST(ExtendedCapabilities, followTheListToItsEndAndNoFurther) {
  ConfigBytes config = with_capability(0x1);
  config.u32(0x100, 0x1 | 2U << 16 | 0x200U << 20);
  config.u32(0x200, 0x19 | 1U << 16 | 0xFFCU << 20);
  config.u32(0xFFC, 0x27 | 1U << 16 | 0x100U << 20);  // back to the first; and cut by the end
  const auto f = whole_function(config);
  EXPECT_EQ(f.extended_list.entries.size(), 3U);
  EXPECT_TRUE(f.extended_list.broken);
  EXPECT_TRUE(f.extended.aer);
  EXPECT_TRUE(f.extended.secondary);
  EXPECT_FALSE(f.extended.margining);
  EXPECT_TRUE(f.extended.cut);
}

TEST(ExtendedCapabilities, cutAnywhereNothingIsShownThatIsNotInTheBytes) {
  const ConfigBytes config = with_capability(0x1);
  for (std::size_t length = 256; length <= 0x140; ++length) {
    const std::vector<std::uint8_t> cut(config.bytes().begin(),
                                        config.bytes().begin() + static_cast<long>(length));
    const auto f = decode_config_space(cut, "0000:01:00.0");
    ASSERT_TRUE(f);
    EXPECT_EQ(f->extended.aer.has_value(), length >= 0x12C) << length;
    EXPECT_EQ(f->extended.cut, length < 0x12C) << length;
    // The capabilities of the first 256 bytes are whole.
    EXPECT_FALSE(f->cut);
  }
}

TEST(ExtendedCapabilities, anEmptySpaceHasNone) {
  for (const std::uint32_t header : {0U, 0xFFFFFFFFU}) {
    const auto f = whole_function(with_capability(0).u32(0x100, header));
    EXPECT_TRUE(f.extended_list.entries.empty());
    EXPECT_FALSE(f.extended.cut);
  }
}

}  // namespace
}  // namespace assay::probes
