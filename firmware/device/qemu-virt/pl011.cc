#include "firmware/device/qemu-virt/pl011.h"

#include "firmware/device/qemu-virt/mmio.h"

namespace assay::firmware::device::qemu_virt {
namespace {

constexpr std::uint32_t clock_hz = 24'000'000;

constexpr std::uintptr_t data = 0x00;
constexpr std::uintptr_t flags = 0x18;
constexpr std::uintptr_t integer_divisor = 0x24;
constexpr std::uintptr_t fractional_divisor = 0x28;
constexpr std::uintptr_t line_control = 0x2C;
constexpr std::uintptr_t control = 0x30;
constexpr std::uintptr_t interrupt_mask = 0x38;
constexpr std::uintptr_t interrupt_clear = 0x44;

constexpr std::uint32_t flag_busy = 1 << 3;
constexpr std::uint32_t flag_receive_empty = 1 << 4;
constexpr std::uint32_t flag_transmit_full = 1 << 5;
constexpr std::uint32_t line_fifo = 1 << 4;
constexpr std::uint32_t line_8_bits = 3 << 5;
constexpr std::uint32_t control_enable = 1 << 0 | 1 << 8 | 1 << 9;  // UART, transmit, receive
// At the FIFO's level, and when less has lain in it for 32 bits' time.
constexpr std::uint32_t interrupt_receive = 1 << 4 | 1 << 6;

}  // namespace

void Pl011::start(std::uint32_t baud) {
  write32(base_ + control, 0);
  // Switched off, the FIFOs forget what they hold.
  write32(base_ + line_control, 0);
  // In 64ths, rounded: clock / (16 * baud).
  const std::uint32_t divisor = (clock_hz * 8 / baud + 1) / 2;
  write32(base_ + integer_divisor, divisor >> 6);
  write32(base_ + fractional_divisor, divisor & 0x3F);
  write32(base_ + line_control, line_8_bits | line_fifo);
  write32(base_ + interrupt_clear, 0x7FF);
  write32(base_ + interrupt_mask, interrupt_receive);
  write32(base_ + control, control_enable);
}

bool Pl011::receive(std::uint8_t* byte) {
  if ((read32(base_ + flags) & flag_receive_empty) != 0) return false;
  *byte = static_cast<std::uint8_t>(read32(base_ + data));
  return true;
}

void Pl011::send(const std::uint8_t* bytes, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    while ((read32(base_ + flags) & flag_transmit_full) != 0) {
    }
    write32(base_ + data, bytes[i]);
  }
}

void Pl011::drain() {
  while ((read32(base_ + flags) & flag_busy) != 0) {
  }
}

}  // namespace assay::firmware::device::qemu_virt
