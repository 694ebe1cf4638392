#include "station/config/model_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::station {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Line 2 holds the layers, line 3 the experts.
const char* const moe =
    "{ \"schema\": \"assay/model/1\", \"name\": \"mine\",\n"
    "  \"layers\": 2, \"width\": 64, \"heads\": 4, \"kv_heads\": 2, \"head_dim\": 16,\n"
    "  \"experts\": 8, \"experts_used\": 2,\n"
    "  \"ffn\": 128, \"vocabulary\": 512, \"context\": 128 }\n";

Result<runtime::ModelShape> shape_of(std::string text, const std::string& from = "",
                                     const std::string& to = "") {
  if (const std::size_t at = text.find(from); !from.empty() && at != text.npos) {
    text.replace(at, from.size(), to);
  }
  auto file = LocatedJson::parse(text, "model.json");
  if (!file) return std::unexpected(file.error());
  return parse_model_shape(*file);
}

TEST(ModelShapeFile, aModelWithoutExpertsIsDense) {
  ASSERT_TRUE(shape_of(moe));
  EXPECT_TRUE(shape_of(moe)->is_moe());
  const auto dense = shape_of(moe, "\"experts\": 8, \"experts_used\": 2,", "");
  ASSERT_TRUE(dense) << dense.error().text();
  EXPECT_FALSE(dense->is_moe());
}

TEST(ModelShapeFile, aSizeThatDoesNotGoWithTheOthersIsNamedAtItsLine) {
  const auto shape = shape_of(moe, "\"experts_used\": 2", "\"experts_used\": 9");
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().kind, ErrorKind::bad_file);
  EXPECT_THAT(shape.error().where, StartsWith("model.json:3:"));
  EXPECT_THAT(shape.error().what, HasSubstr("\"experts_used\""));
}

TEST(ModelShapeFile, aSizeThatLacksIsNamedAtTheObjectThatLacksIt) {
  for (const char* lacking : {"\"layers\": 2,", ", \"experts_used\": 2"}) {
    const auto shape = shape_of(moe, lacking, lacking[0] == ',' ? "" : " ");
    ASSERT_FALSE(shape) << lacking;
    EXPECT_EQ(shape.error().kind, ErrorKind::bad_file);
    EXPECT_THAT(shape.error().where, StartsWith("model.json:1:1"));
  }
}

}  // namespace
}  // namespace assay::station
