#include "probes/thermal/thermometer_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::probes {
namespace {

using testing::HasSubstr;

TEST(ThermometerLine, readsWhatThermometersSend) {
  const struct {
    const char* line;
    double c;
  } cases[] = {{"45.2", 45.2},
               {"+045.20 C", 45.2},
               {"45,2 \xC2\xB0"
                "C",
                45.2},
               {"113.36 F", 45.2},
               {"318.35K", 45.2},
               {"T1: 45.2 C\r", 45.2},
               {"temp=45.2", 45.2},
               {"CH1 45.2 degC", 45.2},
               {"-10.5", -10.5},
               {"45.2\xB0"
                "C",
                45.2},
               {"32 Fahrenheit", 0},
               {"0 K", -273.15}};
  for (const auto& c : cases) {
    const auto read = parse_thermometer_line(c.line);
    ASSERT_TRUE(read) << c.line << ": " << read.error().text();
    EXPECT_NEAR(*read, c.c, 1e-9) << c.line;
  }
}

TEST(ThermometerLine, refusesWhatIsNoTemperature) {
  for (const char* line : {"", "C", "OL", "---.- C", "45.2 V", "45.2 C 45.3", "1.2.3", "-274 C",
                           "1001 C", "nan", "inf C", "1e3", "45.2 %RH"}) {
    EXPECT_FALSE(parse_thermometer_line(line)) << line;
  }
  EXPECT_FALSE(parse_thermometer_line(std::string(300, '1')));
}

TEST(TypedReading, isTheReferencesOrBoth) {
  EXPECT_EQ(parse_typed_reading("46.1")->sensor_c, std::nullopt);
  EXPECT_EQ(parse_typed_reading("46.1 C")->sensor_c, std::nullopt);
  const auto both = parse_typed_reading(" 44.3  46.1 ");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->sensor_c, 44.3);
  EXPECT_EQ(both->reference_c, 46.1);
  EXPECT_FALSE(parse_typed_reading("44.3 46.1 47"));
  EXPECT_FALSE(parse_typed_reading("warm"));
}

TEST(Pairs, columnsByNameOrByOrder) {
  const auto plain = parse_pairs("44.3,46.1\n44.4,46.2\n", "r.csv");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->size(), 2U);
  EXPECT_EQ((*plain)[1].sensor_c, 44.4);
  EXPECT_EQ((*plain)[1].reference_c, 46.2);
  const auto named = parse_pairs(
      "\xEF\xBB\xBF# station 3\nreference_c;note;time_s;sensor_c\r\n46,1;x;0;44,3\r\n\r\n"
      "46,2;y;1,5;44,4\r\n",
      "r.csv");
  ASSERT_TRUE(named) << named.error().text();
  ASSERT_EQ(named->size(), 2U);
  EXPECT_EQ((*named)[1].sensor_c, 44.4);
  EXPECT_EQ((*named)[1].time_s, 1.5);
  EXPECT_EQ((*parse_pairs("44.3\t46.1\t7", "r"))[0].time_s, 7);
}

TEST(Pairs, whatIsWrongHasItsLine) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {{"", "r.csv: no pair"},
               {"a,b\n", "r.csv:1: the columns"},
               {"44.3,46.1\n44.3\n", "r.csv:2: expected"},
               {"44.3,warm\n", "r.csv:1: expected temperatures"},
               {"44.3,-300\n", "r.csv:1: expected temperatures"},
               {"44.3,46.1,5\n44.3,46.1,5\n", "r.csv:2: the time does not grow"},
               {"44.3,46.1,5\n44.3,46.1\n", "r.csv:2: a time on some lines"}};
  for (const auto& c : cases) {
    const auto pairs = parse_pairs(c.text, "r.csv");
    ASSERT_FALSE(pairs) << c.text;
    EXPECT_THAT(pairs.error().text(), HasSubstr(c.says));
    EXPECT_EQ(pairs.error().kind, ErrorKind::bad_file);
  }
}

}  // namespace
}  // namespace assay::probes
