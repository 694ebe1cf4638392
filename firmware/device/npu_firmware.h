// The reference firmware as a whole: boots an image out of two slots, answers AT commands, takes a
// new image by YMODEM, or by SMP on the same line. Freestanding; a port gives it a UART, a flash
// chip, a clock and a reset.
//
// Beside the commands of at_server.h:
//   AT+SLOTS?    SLOT:<n>,<version or EMPTY>,<RUNNING or ->   for each slot
//   AT+STATUS?   STATUS:<slot or NONE>,<CONFIRMED or TRIAL>,<REVERTED or ->
//   AT+TEMP?     TEMP:<milli-degrees C>
//   AT+UPDATE    OK, then YMODEM; behind it UPDATE:OK, or UPDATE:<why not>
//   AT+UPDATE?   that line again, for who missed it; UPDATE:NONE before the first
//   AT+CONFIRM   keeps the image that is on trial
//   AT+BOOTLOG?  what the boot did
//   AT+IPR=<baud>  OK at the old rate, then the new one, until the next boot: 115200, 230400,
//                460800, 921600
//   AT+RESET     OK, then a reset
#pragma once

#include <cstdint>

#include "firmware/device/at_server.h"
#include "firmware/device/slots.h"
#include "firmware/device/smp_server.h"
#include "firmware/device/ymodem_receiver.h"

namespace assay::firmware::device {

// What a port brings along. Strings are zero-terminated and outlive the firmware.
struct BoardPort {
  const char* board;  // images of other boards are refused
  const char* serial;
  const char* rom_version;  // answered when no slot holds an image
  Port uart;
  Flash flash;
  FlashLayout layout;
  void* context;
  std::int32_t (*temperature_mc)(void* context);
  // Leaves, or notes that it shall be done behind receive().
  void (*reset)(void* context);
  // The UART's rate from now on. Null: it has one only.
  void (*set_baud)(void* context, std::uint32_t baud) = nullptr;
};

class NpuFirmware {
 public:
  explicit NpuFirmware(const BoardPort& port);
  NpuFirmware(const NpuFirmware&) = delete;
  NpuFirmware& operator=(const NpuFirmware&) = delete;

  void boot();
  void receive(std::uint8_t byte, std::uint32_t now_ms);
  // To be called at least each 100 ms.
  void tick(std::uint32_t now_ms);

 private:
  bool say_slots();
  bool say_status();
  bool say_temperature();
  bool begin_update();
  bool say_update();
  bool confirm();
  bool say_boot_log();
  bool set_rate(const char* rate);
  bool reset();
  void look_at_transfer();

  static const Command commands[];

  BoardPort port_;
  Slots slots_;
  AtServer server_;
  YmodemReceiver receiver_;
  SmpServer smp_;
  bool receiving_ = false;
  bool begin_receiving_ = false;  // behind the OK
  std::uint32_t new_baud_ = 0;    // behind the OK; 0: as it is
  UpdateError update_error_ = UpdateError::none;
  const char* last_update_ = "NONE";
  ImageHeader running_;
};

}  // namespace assay::firmware::device
