#include "firmware/device/qemu-virt/processor.h"

#include "firmware/device/qemu-virt/layout.h"
#include "firmware/device/qemu-virt/mmio.h"

namespace assay::firmware::device::qemu_virt {
namespace {

// GICv2 (IHI 0048): interrupts 16..31 belong to the processor, 32.. are shared.
constexpr std::uint32_t timer_interrupt = 27;
constexpr std::uint32_t uart_interrupt = 33;
constexpr std::uintptr_t distributor_control = gic_distributor_base + 0x000;
constexpr std::uintptr_t distributor_enable = gic_distributor_base + 0x100;
constexpr std::uintptr_t cpu_control = gic_cpu_base + 0x000;
constexpr std::uintptr_t cpu_priority_mask = gic_cpu_base + 0x004;

// PSCI 0.2 (DEN 0022).
constexpr std::uint64_t psci_system_reset = 0x8400'0009;

std::uint64_t timer_hz() {
  std::uint64_t hz = 0;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  return hz;
}

void enable(std::uint32_t interrupt) {
  write32(distributor_enable + interrupt / 32 * 4, 1U << interrupt % 32);
}

}  // namespace

std::uint32_t now_ms() {
  std::uint64_t ticks = 0;
  asm volatile("isb\n mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
  return static_cast<std::uint32_t>(ticks / (timer_hz() / 1000));
}

void start_wake_ups() {
  enable(timer_interrupt);
  enable(uart_interrupt);
  write32(distributor_control, 1);
  write32(cpu_priority_mask, 0xFF);
  write32(cpu_control, 1);
}

void idle(std::uint32_t at_most_ms) {
  const std::uint64_t ticks = timer_hz() / 1000 * at_most_ms;
  asm volatile(
      "msr cntv_tval_el0, %0\n"
      "msr cntv_ctl_el0, %1\n"
      "isb\n"
      "dsb sy\n"
      "wfi\n"
      :
      : "r"(ticks), "r"(std::uint64_t{1})
      : "memory");
}

void reset_machine() {
  register std::uint64_t function asm("x0") = psci_system_reset;
  asm volatile("hvc #0" : "+r"(function) : : "memory");
  for (;;) asm volatile("wfi");
}

}  // namespace assay::firmware::device::qemu_virt
