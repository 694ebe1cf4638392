#include "runtime/model/shape.h"

#include <gtest/gtest.h>

#include "runtime/model/precision.h"

namespace assay::runtime {
namespace {

TEST(ModelShape, presetsAreValidAndOfTheSizeTheirNamesSay) {
  for (const std::string& name : shape_names()) {
    const auto shape = find_shape(name);
    ASSERT_TRUE(shape) << name;
    EXPECT_TRUE(validate(*shape)) << name;
  }
  EXPECT_NEAR(static_cast<double>(find_shape("dense-27b")->parameters()), 26.98e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(find_shape("moe-7b-a2.4b")->parameters()), 6.95e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(find_shape("moe-7b-a2.4b")->active_parameters()), 2.4e9, 0.05e9);
}

TEST(ModelShape, unknownNamesListTheKnownOnes) {
  EXPECT_NE(find_shape("x").error().hint.find("dense-27b"), std::string::npos);
  EXPECT_NE(find_precision("x").error().hint.find("mixed-fp8"), std::string::npos);
}

TEST(ModelShape, wrongFieldsAreNamed) {
  const auto wrong = [](auto change) {
    ModelShape shape = find_shape("moe-small").value();
    change(shape);
    const auto result = validate(shape);
    return result ? std::string("valid") : result.error().where;
  };
  EXPECT_EQ(wrong([](ModelShape& s) { s.layers = 0; }), "layers");
  EXPECT_EQ(wrong([](ModelShape& s) { s.width = 0; }), "width");
  EXPECT_EQ(wrong([](ModelShape& s) { s.kv_heads = 3; }), "kv_heads");
  EXPECT_EQ(wrong([](ModelShape& s) { s.kv_heads = 0; }), "kv_heads");
  EXPECT_EQ(wrong([](ModelShape& s) { s.head_dim = 33; }), "head_dim");
  EXPECT_EQ(wrong([](ModelShape& s) { s.experts_used = 0; }), "experts_used");
  EXPECT_EQ(wrong([](ModelShape& s) { s.experts_used = 17; }), "experts_used");
  EXPECT_EQ(wrong([](ModelShape& s) { s.experts = 0; }), "experts_used");
  EXPECT_EQ(wrong([](ModelShape& s) { s.norm_eps = 0; }), "norm_eps");
  EXPECT_EQ(wrong([](ModelShape& s) { s.rope_theta = 0; }), "rope_theta");
}

}  // namespace
}  // namespace assay::runtime
