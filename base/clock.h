// Durations come from the monotonic clock; the wall clock is for stamps alone.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

// Nanoseconds of CLOCK_MONOTONIC.
std::int64_t monotonic_ns();

// Nanoseconds since 1970 of the wall clock.
std::int64_t wall_ns();

// RFC 3339 in UTC with microseconds: 2026-12-01T11:25:08.123456Z.
std::string timestamp(std::int64_t wall_clock_ns);

// The inverse of timestamp(); accepts 0..9 digits of fraction and "Z". -1 when it is not one, or is
// before 1970 or beyond 64 bits of nanoseconds.
std::int64_t parse_timestamp(const std::string& text);

inline constexpr std::int64_t ns_per_s = 1'000'000'000;
inline constexpr std::int64_t ns_per_ms = 1'000'000;

}  // namespace assay
