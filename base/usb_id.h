// A vendor's and a product's number, as people write them: "1a86:7523", in lower case.
#pragma once

#include <string>
#include <string_view>

namespace assay {

bool is_usb_id(std::string_view text);

// ASCII letters alone.
std::string lower_case(std::string_view text);

}  // namespace assay
