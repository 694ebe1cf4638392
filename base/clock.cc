#include "base/clock.h"

#include <fmt/core.h>

#include <chrono>
#include <ctime>
#include <string_view>

namespace assay {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * ns_per_s + t.tv_nsec;
}

std::int64_t wall_ns() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * ns_per_s + t.tv_nsec;
}

std::string timestamp(std::int64_t wall_clock_ns) {
  const std::time_t seconds = wall_clock_ns / ns_per_s;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     wall_clock_ns % ns_per_s / 1000);
}

std::int64_t parse_timestamp(const std::string& text) {
  // A digit for each 0.
  static constexpr std::string_view form = "0000-00-00T00:00:00";
  if (text.size() <= form.size() || text.size() > form.size() + 11) return -1;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '0' ? !is_digit(text[i]) : text[i] != form[i]) return -1;
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (std::size_t i = at; i < at + digits; ++i) value = value * 10 + (text[i] - '0');
    return value;
  };
  std::int64_t fraction = 0;
  std::size_t at = form.size();
  if (text[at] == '.') {
    std::int64_t unit = ns_per_s / 10;
    for (++at; at < text.size() && is_digit(text[at]); ++at, unit /= 10) {
      if (unit == 0) return -1;
      fraction += (text[at] - '0') * unit;
    }
  }
  if (text.substr(at) != "Z") return -1;
  using namespace std::chrono;
  const year_month_day day{year{number(0, 4)}, month{static_cast<unsigned>(number(5, 2))},
                           std::chrono::day{static_cast<unsigned>(number(8, 2))}};
  const int hour = number(11, 2);
  const int minute = number(14, 2);
  const int second = number(17, 2);
  if (!day.ok() || number(0, 4) < 1970 || hour > 23 || minute > 59 || second > 60) return -1;
  const std::int64_t seconds = sys_days{day}.time_since_epoch().count() * std::int64_t{86400} +
                               hour * 3600 + minute * 60 + second;
  // Nanoseconds in 64 bits end in April 2262.
  if (seconds > INT64_MAX / ns_per_s) return -1;
  if (seconds == INT64_MAX / ns_per_s && fraction > INT64_MAX % ns_per_s) return -1;
  return seconds * ns_per_s + fraction;
}

}  // namespace assay
