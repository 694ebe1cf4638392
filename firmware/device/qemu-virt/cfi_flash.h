// NOR flash with the Intel command set (CFI 01), as QEMU's virt machine has it: two 16-bit chips
// side by side on a 32-bit bus. Every command goes to both, every status comes from both.
//
// The chips read as memory before and after each call, whatever came of it: code and data may lie
// in them. Freestanding. Not thread-safe.
#pragma once

#include <cstdint>

#include "firmware/device/flash.h"

namespace assay::firmware::device::qemu_virt {

// How the driver gets at the chips; a test puts a model there. Offsets are bytes from the chips'
// start, multiples of 4.
struct CfiBus {
  void* context;
  std::uint32_t (*read)(void* context, std::uint32_t offset);
  void (*write)(void* context, std::uint32_t offset, std::uint32_t value);
  // Milliseconds of any origin; they may wrap.
  std::uint32_t (*now_ms)(void* context);
};

enum class CfiError : std::uint8_t {
  none,
  unknown_chip,  // no CFI answer, or another geometry than this driver's
  range,         // beyond the end, or not in whole words or sectors
  not_erased,    // it would set bits, which programming cannot; nothing was written
  timeout,       // a chip did not become ready
  erase,         // the status of one of the chips says so: here and below
  program,
  voltage,
  locked,
  sequence,  // the chip did not understand the command
};

class CfiFlash {
 public:
  static constexpr std::uint32_t chip_bytes = 64 << 20;
  static constexpr std::uint32_t sector_bytes = 256 << 10;
  // What one program command takes; it may not cross a multiple of it. The chips' buffers would
  // take twice as much, one such half each.
  static constexpr std::uint32_t buffer_bytes = 2 << 10;

  // Longest waits, above what data sheets of such chips give as the worst case.
  static constexpr std::uint32_t program_timeout_ms = 100;
  static constexpr std::uint32_t erase_timeout_ms = 10'000;

  explicit CfiFlash(const CfiBus& bus) : bus_(bus) {}

  // Whether the chips are those that this driver knows.
  CfiError probe();

  CfiError read(std::uint32_t offset, std::uint8_t* out, std::uint32_t size);
  CfiError erase(std::uint32_t sector_offset);
  // In whole words. Looks at all of it before it writes any.
  CfiError program(std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t size);

  // The same for the core; the driver outlives it.
  Flash chip();

 private:
  CfiError program_buffer(std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t size);
  CfiError wait(std::uint32_t offset, std::uint32_t timeout_ms, std::uint32_t* status);
  CfiError end(std::uint32_t offset, CfiError error);
  void make_readable();

  CfiBus bus_;
  bool was_late_ = false;  // the last command timed out: "read array" may not have been heard
};

}  // namespace assay::firmware::device::qemu_virt
