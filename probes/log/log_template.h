// The texts of log_patterns.h with their fields filled in. No I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace assay::probes {

// What the groups of an expression matched, by name; a group without a match is not there.
using LogFields = std::map<std::string, std::string, std::less<>>;

// A decimal number without a sign; nothing when it is none or does not fit.
std::optional<std::uint64_t> number_in(std::string_view text);

// a * b, or the largest number.
std::uint64_t multiplied(std::uint64_t a, std::uint64_t b);
// The bytes of a block of 2^order pages, or the largest number.
std::uint64_t bytes_of_order(std::uint64_t order, std::uint64_t page_bytes);

// "4 KiB".
std::string page_text(std::uint64_t page_bytes);

// As log_patterns.h says. Fields come as they are: printable text.
std::string fill_in(std::string_view text, const LogFields& fields, std::uint64_t page_bytes);

}  // namespace assay::probes
