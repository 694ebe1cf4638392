// Texts in fields of a fixed size, zero-padded, as headers in flash have them. They end up in lines
// of answers, where a line end inside would forge one: printable ASCII without spaces alone is a
// text. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::firmware::device {

// False when the field is empty or holds anything else than a text and zeros. `text` has room for
// one more than `size`.
inline bool get_text(const std::uint8_t* field, std::size_t size, char* text) {
  std::size_t length = 0;
  while (length < size && field[length] > ' ' && field[length] <= '~') {
    text[length] = static_cast<char>(field[length]);
    ++length;
  }
  text[length] = '\0';
  for (std::size_t i = length; i < size; ++i) {
    if (field[i] != 0) return false;
  }
  return length > 0;
}

// The rest of the field stays as it is.
inline void put_text(const char* text, std::size_t size, std::uint8_t* field) {
  for (std::size_t i = 0; i < size && text[i] != '\0'; ++i) {
    field[i] = static_cast<std::uint8_t>(text[i]);
  }
}

}  // namespace assay::firmware::device
