#include "station/commands/whole_number.h"

#include <fmt/core.h>

#include <charconv>

#include "base/utf8.h"

namespace assay::station {

Result<std::uint64_t> parse_whole_number(const std::string& text, std::uint64_t most,
                                         const std::string& option) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc{} && at == end && number <= most) return number;
  return fail(
      ErrorKind::usage,
      fmt::format("expected a whole number from 0 to {}, not \"{}\"", most, to_printable(text)),
      option);
}

}  // namespace assay::station
