// Extended capabilities that tell how a link fares (PCI Express Base 5.0): advanced error reporting
// (7.8.4), secondary PCI Express (7.7.3), physical layer 16 GT/s (7.7.5), lane margining (7.7.7).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "probes/pcie/capability_list.h"

namespace assay::probes {

struct AdvancedErrorReporting {
  std::uint32_t uncorrectable_status = 0;
  std::uint32_t uncorrectable_mask = 0;
  std::uint32_t uncorrectable_severity = 0;  // 1: fatal
  std::uint32_t correctable_status = 0;
  std::uint32_t correctable_mask = 0;
  std::uint32_t control = 0;
  std::array<std::uint32_t, 4> header_log = {};
  struct Root {  // of a root port or event collector
    std::uint32_t command = 0;
    std::uint32_t status = 0;
    std::uint16_t correctable_source = 0;  // requester: bus, device, function
    std::uint16_t uncorrectable_source = 0;
  };
  std::optional<Root> root;

  unsigned first_error() const { return control & 0x1F; }
};

// Lanes are those of the link's maximum width.
struct SecondaryPciExpress {
  std::uint32_t lnkctl3 = 0;
  std::uint32_t lane_errors = 0;  // a bit each lane
};

struct PhysicalLayer16GTs {
  std::uint32_t status = 0;
  std::uint32_t local_parity_mismatch = 0;  // a bit each lane
  std::uint32_t first_retimer_parity_mismatch = 0;
  std::uint32_t second_retimer_parity_mismatch = 0;

  bool equalization_complete() const { return (status & 1u) != 0; }
};

struct LaneMargining {
  std::uint16_t capabilities = 0;
  std::uint16_t status = 0;
  struct Lane {
    std::uint16_t control = 0;
    std::uint16_t status = 0;
  };
  std::vector<Lane> lanes;

  bool needs_driver() const { return (capabilities & 1u) != 0; }
  bool ready() const { return (status & 1u) != 0; }
  bool software_ready() const { return (status & 2u) != 0; }
};

struct ExtendedCapabilities {
  std::optional<AdvancedErrorReporting> aer;
  std::optional<SecondaryPciExpress> secondary;
  std::optional<PhysicalLayer16GTs> physical_16gts;
  std::optional<LaneMargining> margining;
  bool cut = false;  // a capability, or the list, goes on behind the bytes that could be read
};

// `lanes`: maximum width of the link, at most 32 are looked at. `collects_errors`: a root port or
// event collector.
ExtendedCapabilities decode_extended_capabilities(const ConfigReader& config,
                                                  const CapabilityList& list, int lanes,
                                                  bool collects_errors);

}  // namespace assay::probes
