// The device's end of USB DFU 1.1: the interface's states (appendix A) over control requests, an
// image into the slots, and the running one back. Freestanding. A port gives it the requests of
// endpoint 0, the bus resets, and a clock.
//
// A block is written by work(), not in the request that brought it: the host is told to wait, and
// asking before its time is a fault of the host's, answered by a stall as the specification has it.
#pragma once

#include <cstdint>

#include "firmware/device/dfu_descriptors.h"
#include "firmware/device/dfu_protocol.h"
#include "firmware/device/slots.h"

namespace assay::firmware::device {

SetupPacket parse_setup(const std::uint8_t bytes[setup_packet_bytes]);

// What the host gets: a stall, or `size` bytes (none for requests that send data to the device).
// `data` is valid until the next call.
struct ControlReply {
  bool stalled = true;
  const std::uint8_t* data = nullptr;
  std::uint16_t size = 0;
};

// What the host is told to wait: for a block, and for the end of the update. At most 24 bits.
struct DfuTimes {
  std::uint32_t block_ms;
  std::uint32_t manifest_ms;
};

class DfuDevice {
 public:
  static constexpr std::uint16_t most_transfer_bytes = 4096;

  // The slots outlive the device, and have been booted.
  DfuDevice(const DfuIdentity& identity, const DfuTimes& times, Slots& slots);
  DfuDevice(const DfuDevice&) = delete;
  DfuDevice& operator=(const DfuDevice&) = delete;

  // Power-on. Without an image to run it stays in DFU mode, in dfuERROR (errFIRMWARE).
  void start();

  // One request of endpoint 0. For a request to the device `data` holds setup.length bytes.
  // Standard requests are answered too; SET_ADDRESS is the port's. Times are milliseconds of any
  // origin; they may wrap.
  ControlReply control(const SetupPacket& setup, const std::uint8_t* data, std::uint32_t now_ms);
  // Erases, programs, verifies: to be called after each request, outside of interrupts.
  void work();
  // The host reset the bus. In DFU mode a device that was configured leaves it; a reset before
  // that is part of the enumeration.
  void bus_reset(std::uint32_t now_ms);

  // The port shall leave the bus and come back: the host asked a device to detach that does so by
  // itself (dfu_will_detach). True once; the device is in DFU mode then.
  bool wants_reattach();
  // The chip shall be reset: the update is over, or the host wants the firmware to run.
  bool wants_reset() const { return wants_reset_; }

  bool in_dfu_mode() const { return state_ >= DfuState::dfu_idle; }
  DfuState state() const { return state_; }
  DfuStatus status() const { return status_; }

 private:
  ControlReply standard(const SetupPacket& setup);
  ControlReply descriptor(const SetupPacket& setup);
  ControlReply class_request(const SetupPacket& setup, const std::uint8_t* data,
                             std::uint32_t now_ms);
  ControlReply app_request(const SetupPacket& setup, std::uint32_t now_ms);
  ControlReply download(const SetupPacket& setup, const std::uint8_t* data);
  ControlReply upload(const SetupPacket& setup);
  ControlReply get_status(const SetupPacket& setup, std::uint32_t now_ms);
  ControlReply answer(std::uint16_t size, const SetupPacket& setup) const;
  ControlReply stall(DfuStatus status);
  void fail(UpdateError error);
  void have_no_firmware();
  void let_time_pass(std::uint32_t now_ms);

  DfuIdentity identity_;
  DfuTimes times_;
  Slots& slots_;
  DfuState state_ = DfuState::app_idle;
  DfuStatus status_ = DfuStatus::ok;
  const char* reason_ = "";  // in words, for the host
  bool configured_ = false;
  bool wants_reattach_ = false;
  bool wants_reset_ = false;

  std::uint32_t timer_from_ms_ = 0;  // of the detach, or of a poll
  std::uint32_t timer_ms_ = 0;
  bool work_left_ = false;
  bool updated_ = false;    // manifestation has succeeded
  bool beginning_ = false;  // the block is the first one
  std::uint16_t next_block_ = 0;
  std::uint32_t block_bytes_ = 0;
  std::uint32_t upload_at_ = 0;
  std::uint32_t upload_bytes_ = 0;
  std::uint8_t reply_[most_descriptor_bytes];
  std::uint8_t block_[most_transfer_bytes];  // to be written, or sent to the host
};

}  // namespace assay::firmware::device
