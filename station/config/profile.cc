#include "station/config/profile.h"

#include <re2/re2.h>

#include <charconv>

#include "base/usb_id.h"
#include "station/config/reader.h"
#include "station/config/serial_pattern.h"

namespace assay::station {
namespace {

constexpr std::int64_t max_memory_bytes = std::int64_t{1} << 50;

std::uint64_t bytes(ObjectReader& r, const char* key) {
  return static_cast<std::uint64_t>(r.integer(key, 1, max_memory_bytes));
}

SemanticVersion version(ObjectReader& r, const char* key) {
  const std::string text = r.text(key);
  if (r.failed()) return {};
  auto parsed = parse_semantic_version(text);
  if (!parsed) r.refuse(key, std::string("\"") + key + "\": " + parsed.error().what);
  return parsed.value_or(SemanticVersion{});
}

void read_uart(ObjectReader& r, probes::UartProfile& uart) {
  r.objects("match", [&](ObjectReader& m) {
    uart.usb_ids.push_back(m.text("usb"));
    if (!m.failed() && !is_usb_id(uart.usb_ids.back())) {
      m.refuse("usb", "\"usb\": expected vendor:product in lower-case hex such as 1a86:7523");
    }
  });
  for (const std::int64_t baud : r.integers("baud", 300, 4'000'000)) {
    uart.baud.push_back(static_cast<int>(baud));
  }
  uart.query = r.text("query");
  if (r.has("transfer_baud")) {
    uart.transfer_baud = static_cast<int>(r.integer("transfer_baud", 300, 4'000'000));
  }
}

void read_pcie(ObjectReader& r, probes::PcieProfile& pcie) {
  pcie.name = r.text("name");
  r.object("match", [&](ObjectReader& m) {
    const std::string text = m.text("class");
    static const RE2 pattern("0x[0-9a-f]{4}");
    if (!m.failed() && !RE2::FullMatch(text, pattern)) {
      m.refuse("class", "\"class\": expected base class and subclass in hex such as 0x1200");
      return;
    }
    if (!m.failed()) {
      std::from_chars(text.data() + 2, text.data() + text.size(), pcie.device_class, 16);
    }
    if (!m.has("id")) return;
    pcie.device_id = m.text("id");
    if (!m.failed() && !is_usb_id(pcie.device_id)) {
      m.refuse("id", "\"id\": expected vendor:device in lower-case hex such as 1de4:0001");
    }
  });
  pcie.speed_gts = r.number("speed_gts", 2.5, 128.0);
  pcie.width = static_cast<int>(r.integer("width", 1, 32));
  pcie.optional = r.boolean_or("optional", false);
  if (r.has("peak_power_w")) pcie.peak_power_w = r.number("peak_power_w", 0.1, 1000);
  if (r.has("claimed_gbps")) pcie.claimed_gbps = r.number("claimed_gbps", 0.01, 2000);
}

}  // namespace

probes::GoldenThermal read_golden_thermal(ObjectReader& r) {
  probes::GoldenThermal golden;
  golden.time_s = r.number("time_s", 0.01, 100'000);
  if (r.has("resistance_k_per_w")) {
    golden.resistance_k_per_w = r.number("resistance_k_per_w", 0.001, 1000);
  }
  if (r.has("rise_k")) golden.rise_k = r.number("rise_k", 0.1, 200);
  golden.base_mc = r.integer("base_mc", -40'000, 125'000);
  golden.base_tolerance_mc = r.integer("base_tolerance_mc", 0, 50'000);
  golden.tolerance = r.number("tolerance", 0.01, 1);
  if (!r.failed() && !golden.resistance_k_per_w && !golden.rise_k) {
    r.refuse("", "expected \"resistance_k_per_w\" or \"rise_k\"");
  }
  return golden;
}

namespace {

void read_thermal(ObjectReader& r, probes::ThermalProfile& thermal) {
  thermal.zone = r.text("zone");
  if (r.has("zone_types")) thermal.zone_types = r.texts("zone_types");
  thermal.limit_mc = r.integer("limit_mc", -40'000, 200'000);
  if (r.has("uncertainty_mc")) thermal.uncertainty_mc = r.integer("uncertainty_mc", 0, 20'000);
  thermal.throttle_mc = r.integer("throttle_mc", -40'000, 200'000);
  if (r.has("offset_file") || r.has("offset_key")) {
    thermal.offset_file = r.text("offset_file");
    thermal.offset_key = r.text("offset_key");
  }
  r.optional_object("frequency_hz", [&](ObjectReader& f) {
    constexpr std::int64_t max_hz = 100'000'000'000;
    thermal.frequency = probes::FrequencyProfile{f.text("file"), f.integer("nominal", 1, max_hz),
                                                 f.integer("throttled", 1, max_hz),
                                                 f.integer("tolerance", 0, max_hz)};
  });
  r.optional_object("golden", [&](ObjectReader& g) { thermal.golden = read_golden_thermal(g); });
  if (!r.failed() && thermal.throttle_mc <= thermal.limit_mc) {
    r.refuse("throttle_mc", "\"throttle_mc\": expected more than limit_mc");
  }
}

void read_npu(ObjectReader& r, probes::NpuProfile& npu) {
  npu.units = static_cast<unsigned>(r.integer("units", 1, 1024));
  npu.sram_bytes = bytes(r, "sram_bytes");
  npu.router_cache_entries = static_cast<unsigned>(r.integer("router_cache_entries", 1, 1 << 20));
  r.object("mapping", [&](ObjectReader& m) {
    npu.mapping.contiguous = m.boolean_or("contiguous", false);
    if (m.has("large_pages_since")) npu.mapping.large_pages_since = version(m, "large_pages_since");
    npu.mapping.max_chunk_bytes = bytes(m, "max_chunk_bytes");
    npu.mapping.shard_region_bytes = bytes(m, "shard_region_bytes");
    npu.mapping.pool_bytes = bytes(m, "pool_bytes");
    if (m.has("pool_joined_bytes")) npu.mapping.pool_joined_bytes = bytes(m, "pool_joined_bytes");
    npu.mapping.pool_file = m.text_or("pool_file", "");
  });
}

}  // namespace

Result<probes::BoardProfile> parse_profile(const LocatedJson& file) {
  std::optional<Error> error;
  probes::BoardProfile board;
  ObjectReader r(file, "", error);
  if (!r.failed() && r.text("schema") != "assay/board/1") {
    r.refuse("schema", "\"schema\": expected assay/board/1");
  }
  board.id = r.text("id");
  board.name = r.text("name");
  board.serial_pattern = r.text("serial_pattern");
  if (!r.failed()) {
    if (const auto sound = check_serial_pattern(board.serial_pattern); !sound) {
      r.refuse("serial_pattern",
               "\"serial_pattern\": expected a regular expression, found " + sound.error().what);
    }
  }
  if (r.has("serial_files")) board.serial_files = r.texts("serial_files");
  r.optional_object("memory", [&](ObjectReader& m) {
    board.memory = probes::MemoryProfile{bytes(m, "total_bytes"), bytes(m, "page_bytes")};
  });
  r.optional_object(
      "cma", [&](ObjectReader& m) { board.cma = probes::CmaProfile{bytes(m, "minimum_bytes")}; });
  r.optional_object("uart", [&](ObjectReader& m) { read_uart(m, board.uart.emplace()); });
  r.optional_object("firmware", [&](ObjectReader& m) {
    board.firmware = probes::FirmwareProfile{version(m, "minimum"), m.text("image"), {}};
    if (!m.has("public_key")) return;
    board.firmware->public_key = m.text("public_key");
    // 44 bytes: RFC 8410's prefix and the key.
    static const RE2 pattern("MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=");
    if (!m.failed() && !RE2::FullMatch(board.firmware->public_key, pattern)) {
      m.refuse("public_key",
               "\"public_key\": expected an Ed25519 key in base64, the line between BEGIN and END "
               "that  openssl pkey -pubout  prints");
    }
  });
  if (r.has("usb")) {
    r.objects("usb", [&](ObjectReader& m) {
      board.dfu_ids.push_back(m.text("id"));
      if (!m.failed() && !is_usb_id(board.dfu_ids.back())) {
        m.refuse("id", "\"id\": expected vendor:product in lower-case hex such as 1d6b:0104");
      }
      if (m.text("role") != "dfu") m.refuse("role", "\"role\": expected dfu");
    });
  }
  if (r.has("pcie")) {
    r.objects("pcie", [&](ObjectReader& m) { read_pcie(m, board.pcie.emplace_back()); });
  }
  r.optional_object("thermal", [&](ObjectReader& m) { read_thermal(m, board.thermal.emplace()); });
  r.optional_object("npu", [&](ObjectReader& m) { read_npu(m, board.npu.emplace()); });
  r.finish();
  if (error) return std::unexpected(*error);
  return board;
}

}  // namespace assay::station
