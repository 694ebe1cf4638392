// The reference board with its USB socket: a chip, two slots, a DFU device. What carries its
// requests from a host is usbip/ or gadgetfs/. An image on trial is confirmed when a host has
// enumerated and configured it.
#pragma once

#include <cstdint>
#include <memory>

#include "firmware/device/dfu_device.h"
#include "firmware/device/flash.h"
#include "firmware/device/slots.h"

namespace assay::firmware::device::gadget {

// Why the board is off the bus.
enum class End {
  unplugged,  // the other side is gone
  reattach,   // the board left it, and wants to come back
  nonsense,   // what came is no request
};

class Board {
 public:
  // The identity's strings and the board's name outlive it.
  Board(const DfuIdentity& identity, const DfuTimes& times, const Flash& flash,
        const FlashLayout& layout, const char* name);

  // As DfuDevice has them, by this machine's clock.
  ControlReply control(const SetupPacket& setup, const std::uint8_t* data);
  void bus_reset();
  void work() { dfu_->work(); }
  bool wants_reattach() { return dfu_->wants_reattach(); }
  bool in_dfu_mode() const { return dfu_->in_dfu_mode(); }
  const DfuIdentity& identity() const { return identity_; }

 private:
  void power_on();

  DfuIdentity identity_;
  DfuTimes times_;
  Flash flash_;
  FlashLayout layout_;
  const char* name_;
  std::unique_ptr<Slots> slots_;
  std::unique_ptr<DfuDevice> dfu_;
};

}  // namespace assay::firmware::device::gadget
