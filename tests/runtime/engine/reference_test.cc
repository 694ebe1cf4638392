// Generation against the naive forward pass in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/device/host_device.h"
#include "runtime/engine/engine.h"
#include "tests/runtime/reference.h"

namespace assay::runtime {
namespace {

struct Case {
  const char* name;
  ModelShape shape;
  const char* precision;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

// Sizes that are no multiples of a vector where the type permits.
const ModelShape dense = {.name = "dense",
                          .layers = 3,
                          .width = 96,
                          .heads = 6,
                          .kv_heads = 3,
                          .head_dim = 32,
                          .ffn = 160,
                          .vocabulary = 301,
                          .context = 64};
const ModelShape odd_shape = {.name = "odd",
                              .layers = 2,
                              .width = 90,
                              .heads = 4,
                              .kv_heads = 1,
                              .head_dim = 22,
                              .ffn = 77,
                              .vocabulary = 259,
                              .context = 64};

ModelShape with_experts(ModelShape shape) {
  shape.experts = 5;
  shape.experts_used = 2;
  return shape;
}

class Reference : public testing::TestWithParam<Case> {};

TEST_P(Reference, logitsAndIdsAgree) {
  HostDevice device;
  WorkerPool pool(2);
  const ModelShape& shape = GetParam().shape;
  auto layout = plan_layout(shape, find_precision(GetParam().precision).value(), shape.layers,
                            device.max_chunk_bytes());
  ASSERT_TRUE(layout) << layout.error().text();
  const auto model = load(device, *layout, 42, pool, CancelToken{}, {});
  ASSERT_TRUE(model);
  auto engine = Engine::create(*model, device, pool);
  ASSERT_TRUE(engine);

  const std::vector<TokenId> prompt = {5, 17, 3, 250, 99, 0, 5, 8, 201, 64, 7};
  const auto made = engine->generate(prompt, 12);
  ASSERT_TRUE(made) << made.error().text();
  std::vector<TokenId> all = prompt;
  all.insert(all.end(), made->tokens.begin(), made->tokens.end());

  const reference::Pass expected = reference::forward(*model, all);
  ASSERT_GT(expected.routing_margin, 1e-5) << "the seed makes two experts nearly equal";
  // Logits have a deviation of about 1; F32 sums of a hundred terms through three layers.
  constexpr double bound = 1e-4;
  for (const std::size_t length : {std::size_t{1}, prompt.size(), all.size()}) {
    const auto logits = engine->evaluate(std::span(all).first(length));
    ASSERT_TRUE(logits);
    double worst = 0;
    double squares = 0;
    for (std::size_t i = 0; i < shape.vocabulary; ++i) {
      const double want = expected.logits[length - 1][i];
      worst = std::max(worst, std::abs((*logits)[i] - want));
      squares += want * want;
    }
    EXPECT_LT(worst, bound);
    EXPECT_NEAR(std::sqrt(squares / shape.vocabulary), 1.0, 0.4);
  }
  for (std::size_t i = 0; i < made->tokens.size(); ++i) {
    std::vector<double> logits = expected.logits[prompt.size() - 1 + i];
    const auto top = std::ranges::max_element(logits);
    const auto id = static_cast<TokenId>(top - logits.begin());
    const double largest = *top;
    *top = -1e9;
    if (largest - *std::ranges::max_element(logits) > 2 * bound) {
      EXPECT_EQ(made->tokens[i], id) << "token " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Reference,
    testing::Values(Case{"dense_f16", dense, "f16"}, Case{"dense_fp8", dense, "fp8"},
                    Case{"dense_mixed_fp8", dense, "mixed-fp8"}, Case{"dense_int4", dense, "int4"},
                    Case{"odd_f16", odd_shape, "f16"}, Case{"odd_fp8", odd_shape, "fp8"},
                    Case{"moe_f16", with_experts(dense), "f16"},
                    Case{"moe_mixed_fp8", with_experts(dense), "mixed-fp8"},
                    Case{"moe_int4", with_experts(dense), "int4"},
                    Case{"moe_odd_fp8", with_experts(odd_shape), "fp8"}),
    [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace assay::runtime
