#include "station/virtual/virtual_spec.h"

#include <re2/re2.h>

#include <charconv>

#include "base/semver.h"
#include "station/config/profile.h"
#include "station/config/reader.h"

namespace assay::station {
namespace {

constexpr std::int64_t max_bytes = std::int64_t{1} << 40;

std::uint16_t hex16(ObjectReader& r, const char* key) {
  const std::string text = r.text(key);
  static const RE2 pattern("0x[0-9a-f]{4}");
  std::uint16_t value = 0;
  if (r.failed()) return value;
  if (!RE2::FullMatch(text, pattern)) {
    r.refuse(key, std::string("\"") + key + "\": expected four hex digits such as 0x1200");
    return value;
  }
  std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  return value;
}

void read_pci(ObjectReader& r, VirtualPciFunction& f) {
  f.address = r.text("address");
  static const RE2 pattern("[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]");
  if (!r.failed() && !RE2::FullMatch(f.address, pattern)) {
    r.refuse("address", "\"address\": expected domain:bus:device.function such as 0000:01:00.0");
  }
  f.vendor = hex16(r, "vendor");
  f.device = hex16(r, "device");
  f.class_code = hex16(r, "class");
  const std::string kind = r.text("kind");
  if (kind == "host") return;
  if (kind == "root_port") {
    f.kind = VirtualPciFunction::Kind::root_port;
    f.secondary_bus = static_cast<std::uint8_t>(r.integer("secondary_bus", 1, 255));
    f.slot_power_w = static_cast<int>(r.integer("slot_power_w", 1, 239));
  } else if (kind == "endpoint") {
    f.kind = VirtualPciFunction::Kind::endpoint;
  } else {
    r.refuse("kind", "\"kind\": expected host, root_port or endpoint");
  }
  f.max_speed_gts = r.number("max_speed_gts", 2.5, 64);
  f.max_width = static_cast<int>(r.integer("max_width", 1, 32));
  f.speed_gts = r.number("speed_gts", 2.5, 64);
  f.width = static_cast<int>(r.integer("width", 1, 32));
}

std::string version_text(ObjectReader& r, const char* key) {
  std::string text = r.text(key);
  if (!r.failed() && !parse_semantic_version(text)) {
    r.refuse(key, std::string("\"") + key + "\": expected a version such as 2.3.1");
  }
  return text;
}

}  // namespace

Result<VirtualSpec> parse_virtual_spec(const LocatedJson& file) {
  std::optional<Error> error;
  VirtualSpec spec;
  ObjectReader r(file, "", error);
  if (!r.failed() && r.text("schema") != "assay/virtual-board/1") {
    r.refuse("schema", "\"schema\": expected assay/virtual-board/1");
  }
  spec.board = r.text("board");
  spec.serial = r.text("serial");
  spec.kernel = r.text("kernel");
  r.object("firmware", [&](ObjectReader& f) {
    spec.firmware_version = version_text(f, "version");
    spec.old_firmware_version = version_text(f, "old_version");
  });
  r.object("memory", [&](ObjectReader& m) {
    spec.memory_bytes = static_cast<std::uint64_t>(m.integer("total_bytes", 1 << 30, max_bytes));
    spec.largest_order = static_cast<int>(m.integer("largest_order", 0, 18));
  });
  r.object("pool", [&](ObjectReader& p) {
    spec.pool_bytes = static_cast<std::uint64_t>(p.integer("total_bytes", 1 << 20, max_bytes));
    spec.pool_driver_bytes = static_cast<std::uint64_t>(p.integer("driver_bytes", 0, max_bytes));
    spec.stuck_pages = static_cast<int>(p.integer("stuck_pages_when_fragmented", 1, 100'000));
  });
  r.object("thermal", [&](ObjectReader& t) {
    spec.ambient_mc = t.integer("ambient_mc", -40'000, 85'000);
    spec.idle_w = t.number("idle_w", 0, 1000);
    spec.peak_w = t.number("peak_w", 0, 1000);
    spec.core_to_spreader_k_per_w = t.number("core_to_spreader_k_per_w", 0, 100);
    spec.spreader_to_air_k_per_w = t.number("spreader_to_air_k_per_w", 0, 100);
    spec.gap_k_per_w = t.number("gap_k_per_w", 0, 100);
    spec.core_time_s = t.number("core_time_s", 0.1, 3600);
    spec.spreader_time_s = t.number("spreader_time_s", 0.1, 36'000);
    spec.sensor_noise_mc = t.integer("sensor_noise_mc", 0, 10'000);
    spec.sensor_drift_mc = t.integer("sensor_drift_mc", -20'000, 20'000);
    const std::string since = version_text(t, "drift_corrected_since");
    if (!t.failed()) spec.drift_corrected_since = *parse_semantic_version(since);
    t.optional_object("golden", [&](ObjectReader& g) { spec.golden = read_golden_thermal(g); });
  });
  r.objects("pci", [&](ObjectReader& p) { read_pci(p, spec.pci.emplace_back()); });
  if (!r.failed() && spec.pool_bytes > spec.memory_bytes * 3 / 4) {
    r.refuse("pool", "\"pool\": expected at most three quarters of the memory");
  }
  if (!r.failed() && spec.pool_driver_bytes >= spec.pool_bytes) {
    r.refuse("pool", "\"driver_bytes\": expected less than the pool");
  }
  r.finish();
  if (error) return std::unexpected(*error);
  return spec;
}

}  // namespace assay::station
