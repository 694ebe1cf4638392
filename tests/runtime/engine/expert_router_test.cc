#include "runtime/engine/expert_router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace assay::runtime {
namespace {

TEST(ExpertRouter, takesTheLargestAndLetsTheirWeightsAddUpToOne) {
  std::vector<float> logits = {0.1F, 2.0F, -1.0F, 3.0F, 1.0F};
  std::vector<ExpertChoice> chosen(2);
  choose_experts(logits, chosen);
  EXPECT_EQ(chosen[0].expert, 3U);
  EXPECT_EQ(chosen[1].expert, 1U);
  EXPECT_NEAR(chosen[0].weight, std::exp(1.0) / (std::exp(1.0) + 1.0), 1e-6);
  EXPECT_NEAR(chosen[0].weight + chosen[1].weight, 1.0, 1e-6);
}

TEST(ExpertRouter, ofEqualOnesTheLowestNumberWins) {
  std::vector<float> logits = {0.0F, 1.0F, 1.0F, 1.0F};
  std::vector<ExpertChoice> chosen(2);
  choose_experts(logits, chosen);
  EXPECT_EQ(chosen[0].expert, 1U);
  EXPECT_EQ(chosen[1].expert, 2U);
}

TEST(ExpertRouter, canTakeAll) {
  std::vector<float> logits = {0.0F, 5.0F, 1.0F};
  std::vector<ExpertChoice> chosen(3);
  choose_experts(logits, chosen);
  EXPECT_EQ(chosen[0].expert, 1U);
  EXPECT_EQ(chosen[1].expert, 2U);
  EXPECT_EQ(chosen[2].expert, 0U);
}

}  // namespace
}  // namespace assay::runtime
