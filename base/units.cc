#include "base/units.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace assay {
namespace {

constexpr std::array<std::string_view, 22> units = {
    "1",   "%",    "By",    "By/s", "Bd", "GBy/s", "s",       "ms",        "Cel", "Hz",  "MHz",
    "GHz", "GT/s", "lanes", "W",    "V",  "A",     "{token}", "{token}/s", "K",   "K/W", "/min"};

struct Suffix {
  std::string_view text;
  double factor;
};

constexpr double ki = 1024.0;
constexpr std::array<Suffix, 15> sizes = {{{"", 1},
                                           {"B", 1},
                                           {"K", ki},
                                           {"KiB", ki},
                                           {"kB", 1e3},
                                           {"KB", 1e3},
                                           {"M", ki* ki},
                                           {"MiB", ki* ki},
                                           {"MB", 1e6},
                                           {"G", ki* ki* ki},
                                           {"GiB", ki* ki* ki},
                                           {"GB", 1e9},
                                           {"T", ki* ki* ki* ki},
                                           {"TiB", ki* ki* ki* ki},
                                           {"TB", 1e12}}};
constexpr std::array<Suffix, 4> durations = {
    {{"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}};

// A plain decimal number with one of the suffixes, as a count of the base unit below 2^63.
template <std::size_t n>
Result<double> parse_scaled(std::string_view text, const std::array<Suffix, n>& suffixes,
                            const char* expected) {
  const auto bad = [&] {
    return fail(ErrorKind::usage, fmt::format("\"{}\" is not {}", text.substr(0, 40), expected));
  };
  double number = 0;
  const auto [at, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || std::signbit(number)) return bad();
  const std::string_view suffix(at, static_cast<std::size_t>(text.data() + text.size() - at));
  const auto found = std::find_if(suffixes.begin(), suffixes.end(),
                                  [&](const Suffix& s) { return s.text == suffix; });
  if (found == suffixes.end()) return bad();
  const double value = std::round(number * found->factor);
  if (!(value < 9.2e18)) return bad();
  return value;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto value = parse_scaled(text, sizes, "a size such as 4096, 512MiB, 4G or 1.8GB");
  if (!value) return std::unexpected(value.error());
  return static_cast<std::uint64_t>(*value);
}

Result<std::int64_t> parse_duration_ns(std::string_view text) {
  const auto value = parse_scaled(text, durations, "a duration such as 250ms, 30s, 10min or 8h");
  if (!value) return std::unexpected(value.error());
  return static_cast<std::int64_t>(*value);
}

std::string format_gb(std::uint64_t bytes) {
  const double b = static_cast<double>(bytes);
  if (b >= 1e9) return fmt::format("{:.1f} GB", b / 1e9);
  if (b >= 1e6) return fmt::format("{:.1f} MB", b / 1e6);
  return fmt::format("{} B", bytes);
}

std::string format_gib(std::uint64_t bytes) {
  const double b = static_cast<double>(bytes);
  if (b >= ki * ki * ki) return fmt::format("{:.1f} GiB", b / (ki * ki * ki));
  if (b >= ki * ki) return fmt::format("{:.0f} MiB", b / (ki * ki));
  if (b >= ki) return fmt::format("{:.0f} KiB", b / ki);
  return fmt::format("{} B", bytes);
}

std::string format_hms(std::int64_t ns) {
  const std::int64_t s = ns / 1'000'000'000;
  return fmt::format("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string format_seconds(std::int64_t ns) {
  const double s = static_cast<double>(ns) / 1e9;
  if (s < 99.95) return fmt::format("{:.1f} s", s);
  return fmt::format("{:02}:{:02}", ns / 60'000'000'000, ns / 1'000'000'000 % 60);
}

bool is_known_unit(std::string_view unit) {
  return std::find(units.begin(), units.end(), unit) != units.end();
}

std::string known_units() {
  std::string all;
  for (const auto unit : units) all += (all.empty() ? "" : ", ") + std::string(unit);
  return all;
}

}  // namespace assay
