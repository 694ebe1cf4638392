// The alphabet in which the files of byte-level BPE write bytes: every byte is one printable
// character (openai/gpt-2, encoder.py, bytes_to_unicode). The printable bytes of Latin-1 are
// themselves; the others, in their order, are U+0100 and on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::runtime {

// As UTF-8.
std::string letter_of(std::uint8_t byte);

// The bytes that a text of this alphabet writes; nothing when it has another character.
std::optional<std::string> bytes_of_letters(std::string_view text);

}  // namespace assay::runtime
