#include "base/clock.h"

#include <gtest/gtest.h>

#include <random>

namespace assay {
namespace {

TEST(Clock, printsPublishedInstants) {
  // `date -u -d @N` of each.
  EXPECT_EQ(timestamp(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(timestamp(951'782'400 * ns_per_s), "2000-02-29T00:00:00.000000Z");
  EXPECT_EQ(timestamp(1'234'567'890 * ns_per_s + 123'456'789), "2009-02-13T23:31:30.123456Z");
  EXPECT_EQ(timestamp(2'147'483'648 * ns_per_s), "2038-01-19T03:14:08.000000Z");
}

TEST(Clock, readsTheInstantsOfTheRfc) {
  // RFC 3339, section 5.8; a leap second counts as the second after it.
  EXPECT_EQ(parse_timestamp("1985-04-12T23:20:50.52Z"), 482'196'050 * ns_per_s + 520'000'000);
  EXPECT_EQ(parse_timestamp("1990-12-31T23:59:60Z"), 662'688'000 * ns_per_s);
  EXPECT_EQ(parse_timestamp("1970-01-01T00:00:00.000000001Z"), 1);
  EXPECT_EQ(parse_timestamp("2262-04-11T23:47:16.854775807Z"), INT64_MAX);
}

TEST(Clock, aTimestampComesBackToTheMicrosecond) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto ns = static_cast<std::int64_t>(random() >> 1);
    ASSERT_EQ(parse_timestamp(timestamp(ns)), ns / 1000 * 1000);
  }
}

TEST(Clock, refusesWhatIsNoTimestamp) {
  for (const char* text :
       {"", "Z", "2026-12-01", "2026-12-01T11:25:08", "2026-12-01 11:25:08Z", "2026-12-01T11:25Z",
        "2026-12-01T11:25:08+01:00", "2026-12-01T11:25:08z ", "2026-12-01T11:25:08ZZ",
        "2026-13-01T11:25:08Z", "2026-00-01T11:25:08Z", "2026-02-29T11:25:08Z",
        "2100-02-29T00:00:00Z", "2026-04-31T11:25:08Z", "2026-12-00T11:25:08Z",
        "2026-12-01T24:00:00Z", "2026-12-01T11:60:08Z", "2026-12-01T11:25:61Z",
        "1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "-999-01-01T00:00:00Z",
        "+026-01-01T00:00:00Z", "2026-+1-01T00:00:00Z", "2026- 1-01T00:00:00Z", "2026-1-1T1:1:1Z",
        " 2026-12-01T11:25:08Z", "2026-12-01T11:25:08.1234567890Z", "2026-12-01T11:25:08,5Z",
        "2026-12-01T11:25:08.-5Z",
        // Beyond what 64 bits of nanoseconds hold.
        "2262-04-11T23:47:17Z", "2262-04-11T23:47:16.854775808Z", "2263-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z"}) {
    EXPECT_EQ(parse_timestamp(text), -1) << text;
  }
  EXPECT_EQ(parse_timestamp(std::string("2026-12-01T11:25:08Z\0", 21)), -1);
  EXPECT_EQ(parse_timestamp(std::string("2026-12-01T11:25:08\0Z", 21)), -1);
  EXPECT_EQ(parse_timestamp(std::string(100'000, '2')), -1);
}

TEST(Clock, theMonotonicClockNeverGoesBack) {
  std::int64_t last = monotonic_ns();
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t now = monotonic_ns();
    ASSERT_GE(now, last);
    last = now;
  }
  // The wall clock of any machine that builds this is past 2024.
  EXPECT_GT(wall_ns(), 1'700'000'000 * ns_per_s);
}

}  // namespace
}  // namespace assay
