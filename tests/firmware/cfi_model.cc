#include "tests/firmware/cfi_model.h"

namespace assay::test {
namespace {

constexpr std::uint8_t ready = 0x80;
constexpr std::uint8_t sequence_error = 0x30;

}  // namespace

std::uint16_t CfiChip::content(std::uint32_t word) const {
  const auto block = blocks_.find(word / block_words);
  return block == blocks_.end() ? std::uint16_t{0xFFFF} : block->second[word % block_words];
}

std::uint16_t CfiChip::read(std::uint32_t word) {
  if (mode_ == Mode::array) return content(word);
  if (mode_ == Mode::query) {
    const auto entry = query_.find(word);
    return entry == query_.end() ? std::uint16_t{0} : entry->second;
  }
  if (hangs_) return 0;
  if (busy_left_ > 0) {
    --busy_left_;
    return 0;
  }
  return ready | status_;
}

void CfiChip::write(std::uint32_t word, std::uint16_t value) {
  switch (mode_) {
    case Mode::erase_setup:
      mode_ = Mode::status;
      ++erases_;
      if (!fails(value == 0xD0 && word / block_words == setup_word_ / block_words
                     ? 0
                     : sequence_error)) {
        blocks_.erase(word / block_words);
      }
      return;
    case Mode::buffer_count:
      mode_ = Mode::buffer_data;
      buffer_left_ = value + 1U;
      buffer_.clear();
      if (buffer_left_ > buffer_words) {
        mode_ = Mode::status;
        (void)fails(sequence_error);
      }
      return;
    case Mode::buffer_data:
      buffer_[word] = value;
      if (--buffer_left_ == 0) mode_ = Mode::buffer_confirm;
      return;
    case Mode::buffer_confirm:
      mode_ = Mode::status;
      ++programs_;
      if (value != 0xD0) {
        (void)fails(sequence_error);
      } else {
        program_buffer();
      }
      return;
    case Mode::array:
    case Mode::status:
    case Mode::query:
      return command(word, value);
  }
}

void CfiChip::command(std::uint32_t word, std::uint16_t value) {
  // A busy chip does not listen; one that was busy shows its status.
  if (busy_left_ > 0) return;
  if (hangs_) {
    mode_ = Mode::status;
    return;
  }
  setup_word_ = word;
  switch (value) {
    case 0xFF:
      mode_ = Mode::array;
      return;
    case 0x50:
      status_ = 0;
      return;
    case 0x98:
      mode_ = Mode::query;
      return;
    case 0x20:
      mode_ = Mode::erase_setup;
      return;
    case 0xE8:
      mode_ = Mode::buffer_count;
      return;
    default:
      mode_ = Mode::status;
      (void)fails(sequence_error);
  }
}

bool CfiChip::fails(std::uint8_t status_bits) {
  // What is no command is known at once.
  busy_left_ = status_bits == sequence_error ? 0 : busy_reads_;
  if (status_bits == 0 && fail_next_) status_bits = *fail_next_;
  fail_next_.reset();
  status_ |= status_bits;
  return status_bits != 0;
}

// All of it lies in one piece of the buffer's size, and only clears bits.
void CfiChip::program_buffer() {
  for (const auto& [word, value] : buffer_) {
    if (word / buffer_words != setup_word_ / buffer_words) {
      (void)fails(sequence_error);
      return;
    }
  }
  if (fails(0)) return;
  for (const auto& [word, value] : buffer_) {
    auto& block = blocks_[word / block_words];
    if (block.empty()) block.resize(block_words, 0xFFFF);
    block[word % block_words] &= value;
  }
}

firmware::device::qemu_virt::CfiBus CfiModel::bus() {
  return {this,
          [](void* self, std::uint32_t offset) {
            auto& model = *static_cast<CfiModel*>(self);
            const std::uint32_t low = model.chips[0].read(offset / 4);
            return low | std::uint32_t{model.chips[1].read(offset / 4)} << 16;
          },
          [](void* self, std::uint32_t offset, std::uint32_t value) {
            auto& model = *static_cast<CfiModel*>(self);
            model.chips[0].write(offset / 4, static_cast<std::uint16_t>(value));
            model.chips[1].write(offset / 4, static_cast<std::uint16_t>(value >> 16));
          },
          [](void* self) { return static_cast<CfiModel*>(self)->now_ms++; }};
}

std::uint32_t CfiModel::content(std::uint32_t offset) const {
  return chips[0].content(offset / 4) | std::uint32_t{chips[1].content(offset / 4)} << 16;
}

}  // namespace assay::test
