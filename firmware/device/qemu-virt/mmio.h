// Registers in memory.
#pragma once

#include <cstdint>

namespace assay::firmware::device::qemu_virt {

inline std::uint32_t read32(std::uintptr_t address) {
  return *reinterpret_cast<const volatile std::uint32_t*>(address);
}
inline void write32(std::uintptr_t address, std::uint32_t value) {
  *reinterpret_cast<volatile std::uint32_t*>(address) = value;
}

}  // namespace assay::firmware::device::qemu_virt
