// A board that is not there: a folder with /proc, /sys, /dev and /etc files that live, a serial
// port with the reference firmware behind it, an NPU under the board's DMA rules. The program that
// tests it is the very same one.
#pragma once

#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "base/machine.h"
#include "base/result.h"
#include "probes/framework/board_profile.h"
#include "probes/memory/ram.h"
#include "station/virtual/board_folder.h"
#include "station/virtual/fault.h"
#include "station/virtual/firmware_process.h"
#include "station/virtual/thermal_model.h"
#include "station/virtual/virtual_npu.h"
#include "station/virtual/virtual_spec.h"

namespace assay::station {

class VirtualBoard {
 public:
  // The profile says where files lie and what the limits are; the spec what this one is made of.
  static Result<std::unique_ptr<VirtualBoard>> start(const VirtualSpec& spec,
                                                     const probes::BoardProfile& profile,
                                                     const Faults& faults);
  ~VirtualBoard();
  VirtualBoard(const VirtualBoard&) = delete;
  VirtualBoard& operator=(const VirtualBoard&) = delete;

  const Machine& machine() const { return machine_; }
  runtime::NpuDevice& npu() { return npu_; }
  probes::Ram& ram() { return *ram_; }
  const std::string& uart_port() const { return firmware_.port(); }
  // On its label.
  const std::string& serial() const { return spec_.serial; }
  // Where what the vendor gives away lies.
  std::string vendor_folder() const { return folder_.path() + "/vendor"; }

 private:
  VirtualBoard(VirtualSpec spec, probes::BoardProfile profile, const Faults& faults,
               BoardFolder folder, FirmwareProcess firmware);

  Result<> write_fixed_files(const Faults& faults);
  Result<> write_pci(const Faults& faults);
  Result<> write_fixed_thermal_files();
  Result<> write_live_files();
  Result<> write_memory_files();
  Result<> write_thermal_files();
  void follow_firmware();
  Result<> write(const std::string& path, const std::string& content) const;
  void advance(double seconds);
  void log(const std::string& message);
  void live(const std::stop_token& stop);

  VirtualSpec spec_;
  probes::BoardProfile profile_;
  BoardFolder folder_;
  Machine machine_;
  FirmwareProcess firmware_;
  VirtualNpu npu_;
  std::unique_ptr<probes::Ram> ram_;
  ThermalModel thermal_;
  std::mt19937_64 random_{1};
  bool throttled_ = false;
  bool has_drift_fault_ = false;
  double power_w_ = 0;
  bool drifts_ = false;         // the sensor reads off, and no firmware corrects it
  std::int64_t offset_mc_ = 0;  // that the driver adds: the board's own calibration
  std::int64_t looked_ns_ = 0;  // at firmware and calibration
  std::string kernel_log_;
  std::uint64_t log_sequence_ = 0;
  std::uint64_t written_generation_ = UINT64_MAX;  // of the NPU's memory files
  std::jthread life_;
};

}  // namespace assay::station
