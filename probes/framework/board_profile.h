// What a board must be, as its profile (boards/*.json) says. Probes judge by this; nothing in the
// code knows a board's name. A part that the board does not have is absent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/semver.h"

namespace assay::probes {

struct MemoryProfile {
  std::uint64_t total_bytes = 0;
  std::uint64_t page_bytes = 4096;
};

struct CmaProfile {
  std::uint64_t minimum_bytes = 0;  // of contiguous memory that is set aside (CmaTotal)
};

struct UartProfile {
  std::vector<std::string> usb_ids;  // "1a86:7523": adapters that the board's port shows up as
  std::vector<int> baud;             // tried in this order
  std::string query;                 // "AT+NPUCFG?"
  int transfer_baud = 0;             // for an update, when the board can; 0: as it is

  // Where the board may answer: also at the rate of an update that was cut off.
  std::vector<int> rates() const {
    std::vector<int> all = baud;
    if (transfer_baud != 0 && std::find(all.begin(), all.end(), transfer_baud) == all.end()) {
      all.push_back(transfer_baud);
    }
    return all;
  }
};

struct FirmwareProfile {
  SemanticVersion minimum;
  std::string image;  // the file to flash, by name
  std::string
      public_key;  // Ed25519, base64 of its DER form, that must have signed it; may be empty
};

struct PcieProfile {
  std::string name;
  std::uint32_t device_class = 0;  // base class and subclass, 0x1200
  std::string device_id;           // "1de4:0001", vendor and device; empty: any of the class
  double speed_gts = 0;            // GT/s that LnkSta must show, at least
  int width = 0;                   // lanes, at least
  // What a slot can hold and need not; a card or a port that can do less is held to that.
  bool optional = false;
  std::optional<double> peak_power_w;
  std::optional<double> claimed_gbps;  // GB/s that the data sheet promises
};

struct FrequencyProfile {
  std::string file;  // in Hz
  std::int64_t nominal_hz = 0;
  std::int64_t throttled_hz = 0;
  std::int64_t tolerance_hz = 0;
};

// What a board of this kind that is known to be good showed: `assay thermal watch` prints it.
struct GoldenThermal {
  double time_s = 0;  // time constant, its temperature against its power or load
  // Kelvin for a watt, where the board measures its power; else kelvin from rest to full load.
  std::optional<double> resistance_k_per_w;
  std::optional<double> rise_k;
  std::int64_t base_mc = 0;            // without power (or, without its measurement, at rest)
  std::int64_t base_tolerance_mc = 0;  // by how much the room may differ
  double tolerance = 0;                // of all other figures, 0.15 is 15 %
};

struct ThermalProfile {
  std::string zone;  // "thermal_zone0"
  // Types ("gpu-thermal") of further zones that the board has and that have the same limit.
  std::vector<std::string> zone_types;
  std::int64_t limit_mc = 0;
  std::int64_t uncertainty_mc = 0;  // of a reading, k = 2: the limit's guard band
  std::int64_t throttle_mc = 0;
  std::string offset_file;  // of the sensor's correction; empty: the board has none
  std::string offset_key;
  std::optional<FrequencyProfile> frequency;
  std::optional<GoldenThermal> golden;
};

struct MappingProfile {
  bool contiguous = false;                           // one mapping is one run of pages
  std::optional<SemanticVersion> large_pages_since;  // firmware that joins blocks past the orders
  std::uint64_t max_chunk_bytes = 0;
  std::uint64_t shard_region_bytes = 0;
  std::uint64_t pool_bytes = 0;
  // The longest run of pages of a good board's pool once it is flushed and defragmented; 0:
  // unknown.
  std::uint64_t pool_joined_bytes = 0;
  std::string pool_file;  // the driver's own account of the pool; empty: it gives none
};

struct NpuProfile {
  unsigned units = 1;
  std::uint64_t sram_bytes = 0;
  unsigned router_cache_entries = 0;
  MappingProfile mapping;
};

struct BoardProfile {
  std::string id;
  std::string name;
  std::string serial_pattern;             // regular expression, RE2 syntax
  std::vector<std::string> serial_files;  // where the board itself knows it
  std::optional<MemoryProfile> memory;
  std::optional<CmaProfile> cma;
  std::optional<UartProfile> uart;
  std::optional<FirmwareProfile> firmware;
  std::vector<std::string> dfu_ids;  // "1d6b:0104": USB devices that the board shows up as for DFU
  std::vector<PcieProfile> pcie;
  std::optional<ThermalProfile> thermal;
  std::optional<NpuProfile> npu;
};

}  // namespace assay::probes
