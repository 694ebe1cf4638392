#include "base/clock.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <ctime>

namespace assay {

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
  std::tm utc{};
  int used = 0;
  if (text.size() > 40 ||
      std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &utc.tm_year, &utc.tm_mon,
                  &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &used) != 6) {
    return -1;
  }
  std::int64_t fraction = 0;
  auto at = static_cast<std::size_t>(used);
  if (at < text.size() && text[at] == '.') {
    std::int64_t unit = ns_per_s / 10;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10) {
      fraction += (text[at] - '0') * unit;
    }
  }
  if (text.substr(at) != "Z") return -1;
  using namespace std::chrono;
  const year_month_day day{year{utc.tm_year}, month{static_cast<unsigned>(utc.tm_mon)},
                           std::chrono::day{static_cast<unsigned>(utc.tm_mday)}};
  if (!day.ok() || utc.tm_year < 1970 || utc.tm_hour < 0 || utc.tm_hour > 23 || utc.tm_min < 0 ||
      utc.tm_min > 59 || utc.tm_sec < 0 || utc.tm_sec > 60) {
    return -1;
  }
  const std::int64_t seconds = sys_days{day}.time_since_epoch().count() * std::int64_t{86400} +
                               utc.tm_hour * 3600 + utc.tm_min * 60 + utc.tm_sec;
  return seconds * ns_per_s + fraction;
}

}  // namespace assay
