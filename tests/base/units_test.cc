#include "base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

TEST(Units, readsSizesOfBothPowers) {
  const struct {
    const char* text;
    std::uint64_t bytes;
  } cases[] = {
      {"0", 0},
      {"4096", 4096},
      {"4096B", 4096},
      {"1K", 1024},
      {"1KiB", 1024},
      {"1kB", 1000},
      {"1KB", 1000},
      {"512MiB", 536'870'912},
      {"512M", 536'870'912},
      {"512MB", 512'000'000},
      {"4G", 4'294'967'296},
      {"24GiB", 25'769'803'776},
      {"1.8GB", 1'800'000'000},
      {"0.5GiB", 536'870'912},
      {"2T", 2'199'023'255'552},
      {"2TiB", 2'199'023'255'552},
      {"2TB", 2'000'000'000'000},
      {"9007199254740992", 9'007'199'254'740'992},
  };
  for (const auto& c : cases) EXPECT_EQ(parse_size(c.text), c.bytes) << c.text;
}

TEST(Units, refusesWhatIsNoSizeAndSaysWhatIs) {
  for (const char* text : {"",
                           " ",
                           "GiB",
                           "-1",
                           "-0",
                           "+1",
                           "1 GiB",
                           " 1",
                           "1 ",
                           "1g",
                           "1gib",
                           "1PiB",
                           "1e9",
                           "0x10",
                           "inf",
                           "nan",
                           "infinity",
                           "nan(1)",
                           "1,5G",
                           "1.5.5G",
                           "1GiBB",
                           "16777216T",
                           "99999999999999999999",
                           "1\n"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().kind, ErrorKind::usage) << text;
    EXPECT_THAT(size.error().what, HasSubstr("512MiB")) << text;
  }
  EXPECT_FALSE(parse_size(std::string_view("1\0", 2)));
  // A message does not repeat a book.
  EXPECT_LT(parse_size(std::string(100'000, 'x')).error().what.size(), 200U);
}

TEST(Units, readsDurations) {
  EXPECT_EQ(parse_duration_ns("250ms"), 250'000'000);
  EXPECT_EQ(parse_duration_ns("30s"), 30'000'000'000);
  EXPECT_EQ(parse_duration_ns("1.5s"), 1'500'000'000);
  EXPECT_EQ(parse_duration_ns("10min"), 600'000'000'000);
  EXPECT_EQ(parse_duration_ns("8h"), 28'800'000'000'000);
  EXPECT_EQ(parse_duration_ns("0s"), 0);
  for (const char* text :
       {"", "30", "s", "30m", "30 s", "-1s", "1d", "1e3s", "infs", "nans", "2600000h"}) {
    EXPECT_FALSE(parse_duration_ns(text)) << text;
  }
}

TEST(Units, neverMixesGbAndGib) {
  EXPECT_EQ(format_gb(21'300'000'000), "21.3 GB");
  EXPECT_EQ(format_gib(21'300'000'000), "19.8 GiB");
  EXPECT_EQ(format_gb(std::uint64_t{24} << 30), "25.8 GB");
  EXPECT_EQ(format_gib(std::uint64_t{24} << 30), "24.0 GiB");
  EXPECT_EQ(format_gib(512 << 20), "512 MiB");
  EXPECT_EQ(format_gib(64 << 10), "64 KiB");
  EXPECT_EQ(format_gib(63), "63 B");
  EXPECT_EQ(format_gb(0), "0 B");
  EXPECT_EQ(format_gb(1'500'000), "1.5 MB");
}

TEST(Units, printsTimesAsAClockShowsThem) {
  constexpr std::int64_t s = 1'000'000'000;
  EXPECT_EQ(format_hms(0), "00:00:00");
  EXPECT_EQ(format_hms(252 * s), "00:04:12");
  EXPECT_EQ(format_hms(3599 * s + s - 1), "00:59:59");
  EXPECT_EQ(format_hms(100 * 3600 * s), "100:00:00");
  EXPECT_EQ(format_seconds(400'000'000), "0.4 s");
  EXPECT_EQ(format_seconds(12'300'000'000), "12.3 s");
  EXPECT_EQ(format_seconds(99'900'000'000), "99.9 s");
  EXPECT_EQ(format_seconds(100 * s), "01:40");
  EXPECT_EQ(format_seconds(170 * s), "02:50");
  EXPECT_EQ(format_seconds(3661 * s), "61:01");
}

TEST(Units, knowsItsUnitsAndNoOthers) {
  for (const char* unit : {"1", "By", "GBy/s", "s", "Cel", "GT/s", "lanes", "{token}/s"}) {
    EXPECT_TRUE(is_known_unit(unit)) << unit;
    EXPECT_THAT(known_units(), HasSubstr(unit));
  }
  for (const char* unit : {"", "C", "GB/s", "cel", "bytes", "By "}) {
    EXPECT_FALSE(is_known_unit(unit)) << unit;
  }
}

}  // namespace
}  // namespace assay
