// Sizes, durations and units as people write them. Everything in code is bytes and nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

// "4096", "512MiB", "4G", "1.8GB". KiB/MiB/GiB/TiB and the bare K/M/G/T are powers of 1024;
// kB/KB/MB/GB/TB are powers of 1000.
Result<std::uint64_t> parse_size(std::string_view text);

// "250ms", "30s", "10min", "8h".
Result<std::int64_t> parse_duration_ns(std::string_view text);

// "21.3 GB" (powers of 1000), "23.8 GiB" (powers of 1024).
std::string format_gb(std::uint64_t bytes);
std::string format_gib(std::uint64_t bytes);
// 00:04:12.
std::string format_hms(std::int64_t ns);
// 0.4 s, 12.3 s, 02:50.
std::string format_seconds(std::int64_t ns);

// Units that a measurement may carry (UCUM codes, and GT/s that UCUM lacks).
bool is_known_unit(std::string_view unit);
// All of them, comma separated, for messages.
std::string known_units();

}  // namespace assay
