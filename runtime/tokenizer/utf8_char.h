// One character of a text that may be no valid UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay::runtime {

struct Utf8Char {
  char32_t code;     // U+FFFD for a byte that is part of no character
  std::size_t size;  // its bytes; 1 for such a byte
};

// `text` is not empty. Well-formed as in Unicode 15, table 3-7: no overlong sequence, no surrogate.
Utf8Char first_char(std::string_view text);

bool is_valid_utf8(std::string_view text);

// How many bytes at the end of `text` are the beginning of a character that is not whole: 0..3.
std::size_t unfinished_bytes(std::string_view text);

}  // namespace assay::runtime
