// Where things lie on the virt machine, and in its second flash chip. Freestanding; the test
// harness reads it too.
#pragma once

#include <cstdint>

#include "firmware/device/flash.h"
#include "firmware/device/qemu-virt/cfi_flash.h"

namespace assay::firmware::device::qemu_virt {

// hw/arm/virt.c's memory map: the code runs in the first flash at 0.
inline constexpr std::uintptr_t flash_base = 0x0400'0000;
inline constexpr std::uintptr_t gic_distributor_base = 0x0800'0000;
inline constexpr std::uintptr_t gic_cpu_base = 0x0801'0000;
inline constexpr std::uintptr_t uart_base = 0x0900'0000;

inline constexpr std::uint32_t slot_sectors = 32;  // 8 MiB
inline constexpr FlashLayout flash_layout{
    {0, CfiFlash::sector_bytes},
    {2 * CfiFlash::sector_bytes, (2 + slot_sectors) * CfiFlash::sector_bytes},
    slot_sectors* CfiFlash::sector_bytes};
// The last sector.
inline constexpr std::uint32_t identification_at = CfiFlash::chip_bytes - CfiFlash::sector_bytes;

}  // namespace assay::firmware::device::qemu_virt
