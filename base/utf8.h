// Bytes from devices and files become text here, before they reach a journal or a screen.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Valid UTF-8 as it is; every byte that is no part of it becomes U+FFFD.
std::string to_valid_utf8(std::string_view bytes);

// As to_valid_utf8, and control characters become \xNN: safe to print on a terminal.
std::string to_printable(std::string_view bytes);

}  // namespace assay
