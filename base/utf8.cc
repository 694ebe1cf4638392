#include "base/utf8.h"

#include <fmt/core.h>

#include <cstdint>

namespace assay {
namespace {

// The length of the well-formed sequence at the start of `s` (Unicode 15, table 3-7), or 0.
std::size_t sequence_length(std::string_view s) {
  const auto byte = [&](std::size_t i) {
    return i < s.size() ? static_cast<std::uint8_t>(s[i]) : std::uint8_t{0};
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if ((first & 0xF0) == 0xE0) {
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

std::string clean(std::string_view bytes, bool escape_controls) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    const auto first = static_cast<std::uint8_t>(bytes[0]);
    // C0, DEL, and C1 (U+0080..U+009F, which some terminals obey).
    const bool control =
        first < 0x20 || first == 0x7F ||
        (length == 2 && first == 0xC2 && static_cast<std::uint8_t>(bytes[1]) < 0xA0);
    if (length == 0) {
      text += "\xEF\xBF\xBD";
      bytes.remove_prefix(1);
      continue;
    }
    if (escape_controls && control) {
      text += fmt::format("\\x{:02X}", static_cast<std::uint8_t>(bytes[length - 1]));
    } else {
      text.append(bytes.substr(0, length));
    }
    bytes.remove_prefix(length);
  }
  return text;
}

}  // namespace

std::string to_valid_utf8(std::string_view bytes) {
  return clean(bytes, false);
}
std::string to_printable(std::string_view bytes) {
  return clean(bytes, true);
}

}  // namespace assay
