// The reference board with its USB socket: a chip, two slots, a DFU device; served to a kernel's
// vhci_hcd over a connected socket. Closing the socket pulls the board out. An image on trial is
// confirmed when a host has enumerated and configured it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "firmware/device/dfu_device.h"
#include "firmware/device/flash.h"
#include "firmware/device/slots.h"
#include "firmware/device/usbip/message.h"

namespace assay::firmware::device::usbip {

class Board {
 public:
  // The identity's strings and the board's name outlive it.
  Board(const DfuIdentity& identity, const DfuTimes& times, const Flash& flash,
        const FlashLayout& layout, const char* name);

  enum class End {
    unplugged,  // the other side closed the socket
    reattach,   // the board left the bus, and wants to come back
    nonsense,   // what came is no USB/IP
  };
  // Until the board is off the bus.
  End serve(int socket);

 private:
  void power_on();
  // An answer to one control request; what is sent to the host is put behind `reply`.
  Message answer(const Submit& submit, const std::vector<std::uint8_t>& data,
                 std::vector<std::uint8_t>* reply);

  DfuIdentity identity_;
  DfuTimes times_;
  Flash flash_;
  FlashLayout layout_;
  const char* name_;
  std::unique_ptr<Slots> slots_;
  std::unique_ptr<DfuDevice> dfu_;
};

}  // namespace assay::firmware::device::usbip
