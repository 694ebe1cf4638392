#include "runtime/tokenizer/byte_alphabet.h"

#include <array>

#include "runtime/tokenizer/utf8_char.h"

namespace assay::runtime {
namespace {

constexpr bool is_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

constexpr auto letter_codes = [] {
  std::array<char32_t, 256> codes{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < codes.size(); ++byte) {
    codes[byte] = is_itself(byte) ? char32_t{byte} : next++;
  }
  return codes;
}();

constexpr char32_t behind_last_letter = 0x100 + 68;

// -1: no letter.
constexpr auto bytes_by_letter = [] {
  std::array<int, behind_last_letter> bytes{};
  bytes.fill(-1);
  for (unsigned byte = 0; byte < letter_codes.size(); ++byte) {
    bytes[letter_codes[byte]] = static_cast<int>(byte);
  }
  return bytes;
}();

}  // namespace

std::string letter_of(std::uint8_t byte) {
  const char32_t code = letter_codes[byte];
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

std::optional<std::string> bytes_of_letters(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const Utf8Char next = first_char(text);
    if (next.code >= bytes_by_letter.size() || bytes_by_letter[next.code] < 0) return std::nullopt;
    bytes += static_cast<char>(bytes_by_letter[next.code]);
    text.remove_prefix(next.size);
  }
  return bytes;
}

}  // namespace assay::runtime
