// What the processor itself brings: time, idling, a reset. Interrupts wake it and are never taken:
// there is no handler, the main loop looks at what there is.
#pragma once

#include <cstdint>

namespace assay::firmware::device::qemu_virt {

// Milliseconds since power-on; they wrap.
std::uint32_t now_ms();

// Once, before idle(): lets the UART's and the timer's interrupts through to the processor.
void start_wake_ups();
// Stops the processor until the UART has something, or for `at_most_ms`. What came since the UART
// was last looked at ends it at once.
void idle(std::uint32_t at_most_ms);

// The whole machine, as after power-on.
[[noreturn]] void reset_machine();

}  // namespace assay::firmware::device::qemu_virt
