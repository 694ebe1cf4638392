#include "station/config/located_json.h"

#include <gtest/gtest.h>

namespace assay::station {
namespace {

TEST(LocatedJson, knowsThePlaceOfEveryValueAndKey) {
  const auto file = LocatedJson::parse(
      "{\n"
      "  \"a\": 1,\n"
      "  \"b\" : [ 10,20 , {\"c/d~\":\"x\\\"y\"}, -1.5e3,true],\n"
      "\t\"last\":null}\n",
      "f.json");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->where(""), "f.json:1:1");
  EXPECT_EQ(file->where("/a"), "f.json:2:3");
  EXPECT_EQ(file->where("/b"), "f.json:3:3");
  EXPECT_EQ(file->where("/b/0"), "f.json:3:11");
  EXPECT_EQ(file->where("/b/1"), "f.json:3:14");
  EXPECT_EQ(file->where("/b/2"), "f.json:3:19");
  EXPECT_EQ(file->where("/b/2/c~1d~0"), "f.json:3:20");
  EXPECT_EQ(file->where("/b/3"), "f.json:3:36");
  EXPECT_EQ(file->where("/b/4"), "f.json:3:43");
  EXPECT_EQ(file->where("/last"), "f.json:4:2");
  EXPECT_EQ(file->root()["b"][2]["c/d~"], "x\"y");
}

TEST(LocatedJson, saysWhereTextIsNoJson) {
  const struct {
    const char* text;
    const char* where;
  } cases[] = {
      {"{\n  \"a\": 1,\n  \"b\": tru\n}", "f.json:3:"},
      {"{\"a\": 1", "f.json:1:"},
      {"{\"a\": 1} x", "f.json:1:"},
      {"", "f.json:1:1"},
      {"{\"a\":1,\n\"a\":2}", "f.json:2:1"},
      {"\xff", "f.json:1:1"},
  };
  for (const auto& c : cases) {
    const auto file = LocatedJson::parse(c.text, "f.json");
    ASSERT_FALSE(file) << c.text;
    EXPECT_EQ(file.error().kind, ErrorKind::bad_file);
    EXPECT_TRUE(file.error().where.starts_with(c.where)) << file.error().text();
  }
}

TEST(LocatedJson, refusesDeepAndLargeText) {
  EXPECT_FALSE(LocatedJson::parse(std::string(100'000, '['), "f"));
  EXPECT_FALSE(LocatedJson::parse("\"" + std::string(2 << 20, 'x') + "\"", "f"));
  EXPECT_TRUE(LocatedJson::parse(std::string(64, '[') + std::string(64, ']'), "f"));
  EXPECT_FALSE(LocatedJson::parse(std::string(65, '[') + std::string(65, ']'), "f"));
}

TEST(LocatedJson, aMissingFileOrAFolderIsABadFile) {
  EXPECT_EQ(LocatedJson::read("/nonexistent/x.json").error().kind, ErrorKind::bad_file);
  EXPECT_EQ(LocatedJson::read("/tmp").error().kind, ErrorKind::bad_file);
}

}  // namespace
}  // namespace assay::station
