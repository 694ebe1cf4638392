#include "runtime/tokenizer/utf8_char.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

namespace assay::runtime {
namespace {

constexpr char32_t replacement = 0xFFFD;

std::uint8_t octet(char c) {
  return static_cast<std::uint8_t>(c);
}

// Whole characters are told by first_char(); this is about sequences that end early.
bool can_become_a_character(std::string_view bytes) {
  const std::uint8_t first = octet(bytes[0]);
  const std::size_t needed = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes.size() >= needed) return false;
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    if ((octet(bytes[i]) & 0xC0) != 0x80) return false;
  }
  if (bytes.size() < 2) return true;
  const std::uint8_t second = octet(bytes[1]);
  switch (first) {
    case 0xE0:
      return second >= 0xA0;
    case 0xED:
      return second <= 0x9F;
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second <= 0x8F;
    default:
      return true;
  }
}

}  // namespace

Utf8Char first_char(std::string_view text) {
  if (octet(text[0]) < 0x80) return {static_cast<char32_t>(text[0]), 1};
  utf8proc_int32_t code = 0;
  const auto size =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size(), 4)), &code);
  if (size <= 0) return {replacement, 1};
  return {static_cast<char32_t>(code), static_cast<std::size_t>(size)};
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char next = first_char(text);
    if (next.code == replacement && next.size == 1) return false;
    text.remove_prefix(next.size);
  }
  return true;
}

std::size_t unfinished_bytes(std::string_view text) {
  for (std::size_t size = std::min<std::size_t>(3, text.size()); size > 0; --size) {
    if (can_become_a_character(text.substr(text.size() - size))) return size;
  }
  return 0;
}

}  // namespace assay::runtime
