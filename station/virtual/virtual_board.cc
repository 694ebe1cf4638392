#include "station/virtual/virtual_board.h"

#include <fmt/core.h>

#include <charconv>
#include <condition_variable>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "probes/thermal/setting_file.h"
#include "station/virtual/faulty_ram.h"
#include "station/virtual/firmware_chip.h"
#include "station/virtual/pci_config.h"

namespace assay::station {
namespace {

namespace fs = std::filesystem;

constexpr const char* clock_device = "/sys/class/thermal/cooling_device0";
constexpr const char* power_chip = "/sys/class/hwmon/hwmon0";

constexpr auto tick = std::chrono::milliseconds(50);
constexpr std::int64_t look_interval_ns = 200 * ns_per_ms;
// The hardware lets go of the throttle this far below its wall.
constexpr double throttle_hysteresis_c = 3.0;

PageFrames make_frames(const VirtualSpec& spec, const Faults& faults) {
  PageFrames frames(spec.memory_bytes, spec.pool_bytes, spec.pool_driver_bytes, spec.largest_order,
                    /*seed=*/20260401);
  if (faults.contains(Fault::fragmented)) frames.pin_in_pool(spec.stuck_pages);
  return frames;
}

// In the middle of the image.
constexpr std::uint32_t power_cut_at = 100'000;

const std::string& factory_version(const VirtualSpec& spec, const Faults& faults) {
  const bool old = faults.contains(Fault::fw_old) || faults.contains(Fault::power_cut);
  return old ? spec.old_firmware_version : spec.firmware_version;
}

// What the board's identification block says. A person scans the one of the specification.
std::string serial_in_chip(const VirtualSpec& spec, const Faults& faults) {
  std::string serial = spec.serial;
  if (faults.contains(Fault::serial_mismatch) && !serial.empty()) {
    serial.back() = serial.back() == '9' ? '0' : static_cast<char>(serial.back() + 1);
  }
  return serial;
}

std::string chip_path(const BoardFolder& folder) {
  return folder.path() + "/npu-flash.bin";
}

VirtualNpuRules make_rules(const probes::BoardProfile& profile, const std::string& chip) {
  VirtualNpuRules rules;
  if (!profile.npu) return rules;
  const probes::MappingProfile& mapping = profile.npu->mapping;
  rules = {profile.npu->units, mapping.max_chunk_bytes, mapping.contiguous,
           [since = mapping.large_pages_since, chip] {
             const auto running = running_version(chip);
             return !since || (running && *running >= *since);
           }};
  return rules;
}

std::unique_ptr<probes::Ram> make_ram(const Faults& faults) {
  std::vector<std::unique_ptr<CellFault>> broken;
  if (faults.contains(Fault::mem_stuck)) broken.push_back(std::make_unique<StuckBit>());
  if (faults.contains(Fault::mem_coupling)) broken.push_back(std::make_unique<CoupledBits>());
  if (broken.empty()) return std::make_unique<probes::RealRam>();
  return std::make_unique<FaultyRam>(std::move(broken));
}

}  // namespace

Result<std::unique_ptr<VirtualBoard>> VirtualBoard::start(const VirtualSpec& spec,
                                                          const probes::BoardProfile& profile,
                                                          const Faults& faults) {
  auto folder = BoardFolder::make();
  if (!folder) return std::unexpected(folder.error());
  const std::string chip = chip_path(*folder);
  if (auto made = make_firmware_chip(chip, profile.id, factory_version(spec, faults)); !made) {
    return std::unexpected(made.error());
  }
  if (profile.firmware) {
    const std::string vendor = folder->path() + "/vendor";
    if (auto made = make_folders(vendor); !made) return std::unexpected(made.error());
    const auto made = make_firmware_image(vendor + "/" + profile.firmware->image, profile.id,
                                          profile.firmware->minimum.text());
    if (!made) return std::unexpected(made.error());
  }
  auto firmware = FirmwareProcess::start(
      {.board = profile.id,
       .chip = chip,
       .serial = serial_in_chip(spec, faults),
       .line_fault = faults.contains(Fault::fw_silent)    ? "silent"
                     : faults.contains(Fault::fw_garbage) ? "garbage"
                                                          : "",
       .cut_power_at = faults.contains(Fault::power_cut) ? power_cut_at : 0});
  if (!firmware) return std::unexpected(firmware.error());
  std::unique_ptr<VirtualBoard> board(
      new VirtualBoard(spec, profile, faults, std::move(*folder), std::move(*firmware)));
  for (const auto& written :
       {board->write_fixed_files(faults), board->write_pci(faults), board->write_live_files()}) {
    if (!written) return std::unexpected(written.error());
  }
  board->life_ =
      std::jthread([raw = board.get()](const std::stop_token& stop) { raw->live(stop); });
  return board;
}

VirtualBoard::VirtualBoard(VirtualSpec spec, probes::BoardProfile profile, const Faults& faults,
                           BoardFolder folder, FirmwareProcess firmware)
    : spec_(std::move(spec)),
      profile_(std::move(profile)),
      folder_(std::move(folder)),
      machine_(folder_.path()),
      firmware_(std::move(firmware)),
      npu_(make_frames(spec_, faults), make_rules(profile_, chip_path(folder_))),
      ram_(make_ram(faults)),
      thermal_(spec_, faults.contains(Fault::thermal_gap)),
      has_drift_fault_(faults.contains(Fault::thermal_drift)),
      power_w_(spec_.idle_w) {}

VirtualBoard::~VirtualBoard() {
  if (!life_.joinable()) return;
  // Before the members that it works on are gone.
  life_.request_stop();
  life_.join();
}

Result<> VirtualBoard::write(const std::string& path, const std::string& content) const {
  const std::string full = folder_.path() + path;
  if (auto made = make_folders(fs::path(full).parent_path().string()); !made) return made;
  return write_file_atomically(full, content, Durability::visible);
}

Result<> VirtualBoard::write_fixed_files(const Faults& faults) {
  const std::uint64_t total_kb =
      spec_.memory_bytes / 1024 / (faults.contains(Fault::mem_half) ? 2 : 1);
  const std::uint64_t free_kb = (spec_.memory_bytes - spec_.pool_bytes) / 1024 * 3 / 4;
  std::vector<std::pair<std::string, std::string>> files = {
      {"/proc/version", spec_.kernel + "\n"},
      {"/proc/meminfo", fmt::format("MemTotal:       {} kB\nMemFree:        {} kB\n"
                                    "MemAvailable:   {} kB\n",
                                    total_kb, free_kb, free_kb)},
      {"/etc/npu_boot.cfg", "auto_recover=1\n"}};
  for (const auto& [path, content] : files) {
    if (auto written = write(path, content); !written) return written;
  }
  if (auto written = write_fixed_thermal_files(); !written) return written;
  log("Booting " + spec_.kernel);
  return {};
}

Result<> VirtualBoard::write_fixed_thermal_files() {
  if (!profile_.thermal) return {};
  const std::string zone = "/sys/class/thermal/" + profile_.thermal->zone;
  for (const auto& [path, content] : {
           std::pair<std::string, std::string>{zone + "/type", "npu-thermal\n"},
           {zone + "/mode", "enabled\n"},
           {zone + "/trip_point_0_type", "passive\n"},
           {zone + "/trip_point_0_temp", fmt::format("{}\n", profile_.thermal->throttle_mc)},
           {std::string(clock_device) + "/type", "npu-clock\n"},
           {std::string(clock_device) + "/max_state", "1\n"},
           {std::string(power_chip) + "/name", "npu_power\n"},
           {profile_.thermal->offset_file, profile_.thermal->offset_key + "=0\n"},
       }) {
    if (path.empty()) continue;  // a profile without a sensor correction
    if (auto written = write(path, content); !written) return written;
  }
  return {};
}

Result<> VirtualBoard::write_pci(const Faults& faults) {
  const bool one_lane = faults.contains(Fault::pcie_x1);
  const bool slow = faults.contains(Fault::pcie_gen1);
  std::uint8_t bus_of_npu = 0;
  for (const VirtualPciFunction& f : spec_.pci) {
    const bool is_npu =
        !profile_.pcie.empty() && f.class_code == profile_.pcie.front().device_class;
    if (is_npu)
      bus_of_npu = static_cast<std::uint8_t>(std::stoi(f.address.substr(5, 2), nullptr, 16));
  }
  for (VirtualPciFunction f : spec_.pci) {
    const bool is_npu =
        f.address.substr(5, 2) == fmt::format("{:02x}", bus_of_npu) && bus_of_npu != 0;
    const bool is_its_port = f.secondary_bus == bus_of_npu && bus_of_npu != 0;
    if ((one_lane || slow) && (is_npu || is_its_port)) {
      // Both ends of a link show the same.
      if (one_lane) f.width = 1;
      if (slow) f.speed_gts = 2.5;
      if (is_its_port) f.slot_power_w = 25;
    }
    const std::string folder = "/sys/bus/pci/devices/" + f.address;
    if (auto written = write(folder + "/config", encode_config_space(f)); !written) return written;
    if (f.kind == VirtualPciFunction::Kind::root_port) {
      if (auto written = write(folder + "/aer_dev_correctable",
                               "RxErr 0\nBadTLP 0\nBadDLLP 0\nRollover 0\nTimeout 0\n"
                               "NonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR 0\n");
          !written) {
        return written;
      }
    }
  }
  return {};
}

Result<> VirtualBoard::write_live_files() {
  if (auto written = write_memory_files(); !written) return written;
  return write_thermal_files();
}

Result<> VirtualBoard::write_memory_files() {
  const std::uint64_t generation = npu_.generation();
  if (generation == written_generation_) return {};
  const runtime::PoolInfo pool = npu_.pool_info();
  if (profile_.npu && !profile_.npu->mapping.pool_file.empty()) {
    const auto written = write(
        profile_.npu->mapping.pool_file,
        fmt::format("total_bytes: {}\nfree_bytes: {}\nlargest_free_block: {}\nlive_mappings: {}\n",
                    pool.total_bytes, pool.free_bytes, pool.largest_free_block_bytes,
                    pool.live_mappings));
    if (!written) return written;
  }
  if (auto written = write("/proc/buddyinfo", npu_.buddyinfo()); !written) return written;
  written_generation_ = generation;
  return {};
}

Result<> VirtualBoard::write_thermal_files() {
  if (!profile_.thermal) return {};
  std::normal_distribution<double> noise(0, static_cast<double>(spec_.sensor_noise_mc));
  follow_firmware();
  const double mc = thermal_.sensor_c() * 1000 + static_cast<double>(offset_mc_) +
                    static_cast<double>(drifts_ ? spec_.sensor_drift_mc : 0) +
                    (spec_.sensor_noise_mc > 0 ? noise(random_) : 0);
  if (auto written = write("/sys/class/thermal/" + profile_.thermal->zone + "/temp",
                           fmt::format("{}\n", static_cast<std::int64_t>(mc)));
      !written) {
    return written;
  }
  for (const auto& [path, content] :
       {std::pair<std::string, std::string>{std::string(clock_device) + "/cur_state",
                                            throttled_ ? "1\n" : "0\n"},
        {std::string(power_chip) + "/power1_input", fmt::format("{:.0f}\n", power_w_ * 1e6)}}) {
    if (auto written = write(path, content); !written) return written;
  }
  if (!profile_.thermal->frequency) return {};
  const auto& frequency = *profile_.thermal->frequency;
  return write(frequency.file,
               fmt::format("{}\n", throttled_ ? frequency.throttled_hz : frequency.nominal_hz));
}

// What the firmware makes of the sensor, and the driver of the calibration that it was given.
void VirtualBoard::follow_firmware() {
  const std::int64_t now = monotonic_ns();
  if (now - looked_ns_ < look_interval_ns) return;
  looked_ns_ = now;
  // In the middle of an update nobody knows: it stays as it was.
  if (const auto running = running_version(chip_path(folder_))) {
    drifts_ = has_drift_fault_ || *running < spec_.drift_corrected_since;
  }
  const auto file = machine_.read(profile_.thermal->offset_file);
  if (!file) return;
  const auto setting = probes::setting_in(*file, profile_.thermal->offset_key);
  std::int64_t offset = 0;
  if (setting && std::from_chars(setting->data(), setting->data() + setting->size(), offset).ec ==
                     std::errc{}) {
    offset_mc_ = offset;
  }
}

void VirtualBoard::advance(double seconds) {
  double clock = 1.0;
  if (throttled_ && profile_.thermal && profile_.thermal->frequency) {
    clock = static_cast<double>(profile_.thermal->frequency->throttled_hz) /
            static_cast<double>(profile_.thermal->frequency->nominal_hz);
  }
  const double busy = static_cast<double>(npu_.active_units()) / npu_.units();
  power_w_ = spec_.idle_w + (spec_.peak_w - spec_.idle_w) * busy * clock;
  thermal_.advance(seconds, power_w_);
  if (!profile_.thermal) return;
  const double wall_c = static_cast<double>(profile_.thermal->throttle_mc) / 1000;
  // The hardware looks at its core, not at the sensor that the system reads.
  if (!throttled_ && thermal_.core_c() >= wall_c) {
    throttled_ = true;
    log(fmt::format("npu: THERMAL_THROTTLE triggered at {:.0f}C", wall_c));
  } else if (throttled_ && thermal_.core_c() < wall_c - throttle_hysteresis_c) {
    throttled_ = false;
    log("npu: thermal throttle released");
  }
  npu_.set_clock(throttled_ ? clock : 1.0);
}

void VirtualBoard::log(const std::string& message) {
  kernel_log_ += fmt::format("6,{},{},-;{}\n", log_sequence_++, monotonic_ns() / 1000, message);
  if (!write("/dev/kmsg", kernel_log_)) kernel_log_.clear();  // lost, and not half there
}

void VirtualBoard::live(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  std::int64_t before = monotonic_ns();
  while (!stop.stop_requested()) {
    wake.wait_for(lock, stop, tick, [] { return false; });
    const std::int64_t now = monotonic_ns();
    advance(static_cast<double>(now - before) / 1e9);
    before = now;
    if (const auto written = write_live_files(); !written) {
      // A full disk: the board is gone rather than a sensor that lies.
      std::error_code ignored;
      fs::remove_all(folder_.path() + "/sys", ignored);
      return;
    }
  }
}

}  // namespace assay::station
