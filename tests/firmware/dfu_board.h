// A board in memory whose firmware is updated over USB: a NOR flash chip, two slots, a DFU device,
// and a clock that stands still until it is moved.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "firmware/device/dfu_device.h"
#include "firmware/device/slots.h"
#include "tests/firmware/nor_flash.h"

namespace assay::test {

namespace device = firmware::device;

inline constexpr device::DfuIdentity dfu_identity{
    .vendor = 0x1209,
    .runtime_product = 0xA550,
    .dfu_product = 0xA551,
    .release = 0x0203,
    .manufacturer = "Reference",
    .product = "NPU",
    .serial = "R0042",
    .attributes = device::dfu_can_download | device::dfu_can_upload,
    .detach_timeout_ms = 1000,
    .transfer_bytes = 256};

class DfuBoard {
 public:
  explicit DfuBoard(const device::DfuIdentity& identity = dfu_identity,
                    std::uint32_t slot_bytes = 65536);

  // Or a reset of the chip.
  void power_on();
  // Powers on with this image, confirmed.
  void install(const std::vector<std::uint8_t>& image);
  // Into DFU mode, configured, as behind an enumeration.
  void enter_dfu_mode();

  struct Reply {
    bool stalled;
    std::vector<std::uint8_t> data;
  };
  // One request, and what the firmware does behind it.
  Reply control(const device::SetupPacket& setup, std::span<const std::uint8_t> data = {});
  // To the DFU interface. `length` is for what the device sends.
  Reply request(device::DfuRequest request, std::uint16_t value = 0,
                std::span<const std::uint8_t> data = {}, std::uint16_t length = 0);
  void bus_reset() { dfu_->bus_reset(now_ms); }

  device::DfuDevice& dfu() { return *dfu_; }
  device::Slots& slots() { return *slots_; }
  NorFlash& flash() { return flash_; }
  // The version that the slot holds, or "none".
  std::string version_in(std::uint8_t slot) const;
  std::string running_version() const { return version_in(slots_->running()); }

  static constexpr const char* board = "m6";
  static constexpr device::DfuTimes times{.block_ms = 20, .manifest_ms = 300};

  std::uint32_t now_ms = 0xFFFF'FF00;  // wraps soon

 private:
  device::DfuIdentity identity_;
  device::FlashLayout layout_;
  NorFlash flash_;
  std::unique_ptr<device::Slots> slots_;
  std::unique_ptr<device::DfuDevice> dfu_;
};

}  // namespace assay::test
