#include "station/config/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/program.h"

namespace assay::station {
namespace {

using ::testing::HasSubstr;

const char* const small =
    R"({ "schema": "assay/board/1", "id": "b", "name": "B", "serial_pattern": "^X\\d+$" })";

Result<probes::BoardProfile> profile_of(const std::string& text) {
  auto file = LocatedJson::parse(text, "board.json");
  if (!file) return std::unexpected(file.error());
  return parse_profile(*file);
}

std::string with(const std::string& more) {
  std::string text = small;
  text.insert(text.rfind('}'), ", " + more + " ");
  return text;
}

TEST(Profile, readsTheFirstBoard) {
  const auto file = LocatedJson::read(ASSAY_SOURCE "/boards/m6-mini.json");
  ASSERT_TRUE(file);
  const auto board = parse_profile(*file);
  ASSERT_TRUE(board) << board.error().text();
  EXPECT_EQ(board->memory->total_bytes, std::uint64_t{32} << 30);
  EXPECT_EQ(board->firmware->minimum.text(), "2.3.1");
  ASSERT_EQ(board->pcie.size(), 1u);
  EXPECT_EQ(board->pcie[0].device_class, 0x1200u);
  EXPECT_EQ(board->thermal->frequency->throttled_hz, 750'000'000);
  EXPECT_EQ(board->npu->mapping.max_chunk_bytes, 1'843'200u * 1024);
  EXPECT_TRUE(board->npu->mapping.contiguous);
}

TEST(Profile, aBoardMayHaveNothingButAName) {
  const auto board = profile_of(small);
  ASSERT_TRUE(board) << board.error().text();
  EXPECT_FALSE(board->uart || board->thermal || board->npu || board->memory);
}

std::string with_golden(const std::string& golden) {
  return with(R"("thermal": {"zone": "thermal_zone0", "limit_mc": 85000, "uncertainty_mc": 1500,
      "throttle_mc": 87000, "offset_file": "/etc/x.conf", "offset_key": "t", "golden": {)" +
              golden + "}}");
}

TEST(Profile, readsWhatAGoldenBoardShowed) {
  const auto board =
      profile_of(with_golden(R"("time_s": 72.5, "resistance_k_per_w": 1.8, "base_mc": 25000,
                     "base_tolerance_mc": 3000, "tolerance": 0.15)"));
  ASSERT_TRUE(board) << board.error().text();
  EXPECT_EQ(board->thermal->uncertainty_mc, 1500);
  ASSERT_TRUE(board->thermal->golden);
  EXPECT_EQ(board->thermal->golden->time_s, 72.5);
  EXPECT_EQ(board->thermal->golden->resistance_k_per_w, 1.8);
  EXPECT_EQ(board->thermal->golden->rise_k, std::nullopt);
  EXPECT_EQ(board->thermal->golden->base_mc, 25'000);
  // One of both it must have.
  EXPECT_FALSE(profile_of(with_golden(
      R"("time_s": 72.5, "base_mc": 25000, "base_tolerance_mc": 3000, "tolerance": 0.15)")));
  EXPECT_TRUE(profile_of(with_golden(R"("time_s": 72.5, "rise_k": 47, "base_mc": 25000,
                                        "base_tolerance_mc": 3000, "tolerance": 0.15)")));
}

TEST(Profile, readsZonesSlotsAndContiguousMemory) {
  const auto board = profile_of(with(R"("cma": {"minimum_bytes": 67108864},
      "thermal": {"zone": "thermal_zone0", "zone_types": ["gpu-thermal"], "limit_mc": 80000,
                  "throttle_mc": 85000},
      "pcie": [{"name": "N", "match": {"class": "0x0108"}, "speed_gts": 8, "width": 4,
                "optional": true},
               {"name": "E", "match": {"class": "0x0200", "id": "1de4:0001"}, "speed_gts": 5,
                "width": 4}])"));
  ASSERT_TRUE(board) << board.error().text();
  EXPECT_EQ(board->cma->minimum_bytes, 67'108'864U);
  EXPECT_THAT(board->thermal->zone_types, testing::ElementsAre("gpu-thermal"));
  EXPECT_EQ(board->thermal->offset_file, "");
  EXPECT_TRUE(board->pcie[0].optional);
  EXPECT_EQ(board->pcie[0].device_id, "");
  EXPECT_FALSE(board->pcie[1].optional);
  EXPECT_EQ(board->pcie[1].device_id, "1de4:0001");
}

TEST(Profile, saysWhatIsWrongAndWhere) {
  const struct {
    std::string text;
    const char* says;
  } cases[] = {
      {"[]", "board.json:1:1: expected an object"},
      {"{}", "\"schema\" is missing"},
      {R"({"schema":"assay/board/2"})", "board.json:1:2: \"schema\": expected assay/board/1"},
      {with("\"colour\": 1"), "unknown key \"colour\": expected one of"},
      {with("\"memory\": 32"), "expected an object, found number 32"},
      {with("\"memory\": {\"total_bytes\": \"32G\", \"page_bytes\": 4096}"),
       "\"total_bytes\": expected a whole number from 1"},
      {with("\"memory\": {\"total_bytes\": -1, \"page_bytes\": 4096}"), "found number -1"},
      {with("\"memory\": {\"total_bytes\": 1.5, \"page_bytes\": 4096}"), "found number 1.5"},
      {with("\"memory\": {\"total_bytes\": 18446744073709551615, \"page_bytes\": 4096}"),
       "whole number"},
      {with("\"memory\": {\"total_bytes\": 1}"), "\"page_bytes\" is missing"},
      {with("\"firmware\": {\"minimum\": \"v2\", \"image\": \"x\"}"), "not a semantic version"},
      {with("\"pcie\": [{\"name\": \"N\", \"match\": {\"class\": \"1200\"}, \"speed_gts\": 8, "
            "\"width\": 4}]"),
       "\"class\": expected base class"},
      {with("\"pcie\": [{\"name\": \"N\", \"match\": {\"class\": \"0x1200\"}, \"speed_gts\": 8, "
            "\"width\": 40}]"),
       "\"width\": expected a whole number from 1 to 32, found number 40"},
      {with("\"uart\": {\"match\": [{\"usb\": \"1A86:7523\"}], \"baud\": [9600], \"query\": "
            "\"AT\"}"),
       "\"usb\": expected vendor:product"},
      {with("\"uart\": {\"match\": [], \"baud\": [], \"query\": \"AT\"}"),
       "\"baud\": expected a list"},
      {with("\"pcie\": [{\"name\": \"N\", \"match\": {\"class\": \"0x1200\", \"id\": \"1DE4:1\"}, "
            "\"speed_gts\": 8, \"width\": 4}]"),
       "\"id\": expected vendor:device"},
      {with("\"cma\": {}"), "\"minimum_bytes\" is missing"},
      {with("\"thermal\": {\"zone\": \"z\", \"limit_mc\": 1, \"throttle_mc\": 2, "
            "\"offset_key\": \"k\"}"),
       "\"offset_file\" is missing"},
      {with("\"serial_files\": [1]"), "\"serial_files\": expected a list of texts"},
      {R"({"schema":"assay/board/1","id":"b","name":"B","serial_pattern":"("})",
       "\"serial_pattern\": expected a regular expression"},
  };
  for (const auto& c : cases) {
    const auto board = profile_of(c.text);
    ASSERT_FALSE(board) << c.text;
    EXPECT_EQ(board.error().kind, ErrorKind::bad_file);
    EXPECT_THAT(board.error().text(), HasSubstr(c.says)) << c.text;
    EXPECT_THAT(board.error().where, ::testing::MatchesRegex("board.json:[0-9]+:[0-9]+")) << c.text;
  }
}

}  // namespace
}  // namespace assay::station
