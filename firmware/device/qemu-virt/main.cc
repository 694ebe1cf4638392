// The reference firmware on bare metal: QEMU's virt machine, without an operating system.
#include "firmware/device/npu_firmware.h"
#include "firmware/device/qemu-virt/cfi_flash.h"
#include "firmware/device/qemu-virt/identification.h"
#include "firmware/device/qemu-virt/layout.h"
#include "firmware/device/qemu-virt/mmio.h"
#include "firmware/device/qemu-virt/pl011.h"
#include "firmware/device/qemu-virt/processor.h"

namespace assay::firmware::device::qemu_virt {
namespace {

constexpr std::uint32_t boot_baud = 115200;
constexpr std::uint32_t tick_ms = 50;

void say(Pl011* uart, const char* text) {
  for (; *text != '\0'; ++text) uart->send(reinterpret_cast<const std::uint8_t*>(text), 1);
}

void say_hex(Pl011* uart, std::uint64_t number) {
  for (int shift = 60; shift >= 0; shift -= 4) {
    const char digit[2] = {"0123456789abcdef"[number >> shift & 0xF], '\0'};
    say(uart, digit);
  }
}

CfiBus flash_bus() {
  return {
      nullptr, [](void*, std::uint32_t offset) { return read32(flash_base + offset); },
      [](void*, std::uint32_t offset, std::uint32_t value) { write32(flash_base + offset, value); },
      [](void*) { return now_ms(); }};
}

struct Board {
  Pl011 uart{uart_base};
  bool reset = false;
};

void serve(NpuFirmware* firmware, Board* board) {
  firmware->boot();
  for (;;) {
    firmware->tick(now_ms());
    std::uint8_t byte = 0;
    while (board->uart.receive(&byte)) {
      firmware->receive(byte, now_ms());
      if (board->reset) return;
    }
    idle(tick_ms);
  }
}

void run_board() {
  Board board;
  board.uart.start(boot_baud);
  start_wake_ups();

  CfiFlash flash(flash_bus());
  // Without its chip it answers all the same, as a board without an image.
  if (flash.probe() != CfiError::none) say(&board.uart, "boot: flash chips not known\r\n");
  Identification identification;
  std::uint8_t bytes[identification_bytes];
  if (flash.read(identification_at, bytes, sizeof bytes) != CfiError::none ||
      !parse_identification(bytes, &identification)) {
    say(&board.uart, "boot: no identification\r\n");
  }

  const BoardPort port{identification.board,
                       identification.serial,
                       identification.rom_version,
                       {[](void* u, const std::uint8_t* sent, std::size_t size) {
                          static_cast<Pl011*>(u)->send(sent, size);
                        },
                        &board.uart},
                       flash.chip(),
                       flash_layout,
                       &board,
                       // A room's temperature: the machine has no sensor.
                       [](void*) { return std::int32_t{25'000}; },
                       // Its OK is still to be sent.
                       [](void* b) { static_cast<Board*>(b)->reset = true; },
                       [](void* b, std::uint32_t baud) {
                         auto& uart = static_cast<Board*>(b)->uart;
                         uart.drain();
                         uart.start(baud);
                       }};
  NpuFirmware firmware(port);
  serve(&firmware, &board);
  board.uart.drain();
}

}  // namespace
}  // namespace assay::firmware::device::qemu_virt

// Called by start.S.
extern "C" [[noreturn]] void run() {
  using namespace assay::firmware::device::qemu_virt;
  run_board();
  reset_machine();
}

extern "C" [[noreturn]] void fault(std::uint64_t syndrome, std::uint64_t address) {
  using namespace assay::firmware::device::qemu_virt;
  Pl011 uart(uart_base);
  say(&uart, "\r\nfault: syndrome ");
  say_hex(&uart, syndrome);
  say(&uart, " at ");
  say_hex(&uart, address);
  say(&uart, "\r\n");
  uart.drain();
  reset_machine();
}
