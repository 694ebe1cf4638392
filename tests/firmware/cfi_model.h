// Two 16-bit NOR chips with the Intel command set, side by side on a 32-bit bus, as their data
// sheets have them: programming clears bits, an erased block is all ones, what is read depends on
// the mode, a command may fail, and a busy chip takes its time. Each chip knows its own half of the
// bus alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "firmware/device/qemu-virt/cfi_flash.h"

namespace assay::test {

// Offsets are in 16-bit words of this chip.
class CfiChip {
 public:
  static constexpr std::uint32_t block_words = 64 << 10;
  static constexpr std::uint32_t buffer_words = 512;

  std::uint16_t read(std::uint32_t word);
  void write(std::uint32_t word, std::uint16_t value);

  bool in_array_mode() const { return mode_ == Mode::array; }
  std::uint16_t content(std::uint32_t word) const;

  // The next erase or program ends with these status bits, and changes nothing.
  void fail_next(std::uint8_t status_bits) { fail_next_ = status_bits; }
  // While it hangs it is never ready, and takes no command.
  void hang(bool hangs) { hangs_ = hangs; }
  // How often the status has to be read until it is ready.
  void set_busy_reads(int reads) { busy_reads_ = reads; }
  void set_query(std::uint32_t word, std::uint16_t value) { query_[word] = value; }
  int programs() const { return programs_; }
  int erases() const { return erases_; }

 private:
  enum class Mode { array, status, query, erase_setup, buffer_count, buffer_data, buffer_confirm };

  void command(std::uint32_t word, std::uint16_t value);
  // Ends a command: with these bits, or those that were asked for.
  bool fails(std::uint8_t status_bits);
  void program_buffer();

  // Blocks that are not all ones.
  std::map<std::uint32_t, std::vector<std::uint16_t>> blocks_;
  std::map<std::uint32_t, std::uint16_t> query_ = {{0x10, 'Q'}, {0x11, 'R'}, {0x12, 'Y'},
                                                   {0x13, 1},   {0x27, 25},  {0x2A, 11},
                                                   {0x2C, 1},   {0x2D, 255}, {0x30, 2}};
  Mode mode_ = Mode::array;
  std::uint8_t status_ = 0;
  std::uint32_t setup_word_ = 0;
  std::uint32_t buffer_left_ = 0;
  std::map<std::uint32_t, std::uint16_t> buffer_;
  std::optional<std::uint8_t> fail_next_;
  bool hangs_ = false;
  int busy_reads_ = 2;
  int busy_left_ = 0;
  int programs_ = 0;
  int erases_ = 0;
};

// On the bus: chip 0 has the lower half.
struct CfiModel {
  std::array<CfiChip, 2> chips;
  std::uint32_t now_ms = UINT32_MAX - 20;  // it wraps soon

  firmware::device::qemu_virt::CfiBus bus();
  bool reads_as_memory() const { return chips[0].in_array_mode() && chips[1].in_array_mode(); }
  std::uint32_t content(std::uint32_t offset) const;
};

}  // namespace assay::test
