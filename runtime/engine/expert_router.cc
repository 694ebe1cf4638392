#include "runtime/engine/expert_router.h"

#include <algorithm>

#include "runtime/kernels/vector_ops.h"

namespace assay::runtime {

void choose_experts(std::span<float> logits, std::span<ExpertChoice> chosen) {
  softmax(logits.data(), logits.size());
  const auto before = [](const ExpertChoice& a, const ExpertChoice& b) {
    return a.weight > b.weight || (a.weight == b.weight && a.expert < b.expert);
  };
  std::size_t kept = 0;
  for (std::size_t expert = 0; expert < logits.size(); ++expert) {
    const ExpertChoice candidate{static_cast<std::uint32_t>(expert), logits[expert]};
    if (kept < chosen.size()) {
      chosen[kept++] = candidate;
    } else if (before(candidate, chosen.back())) {
      chosen.back() = candidate;
    } else {
      continue;
    }
    // Insertion: the few that are kept are always in order.
    for (std::size_t i = kept - 1; i > 0 && before(chosen[i], chosen[i - 1]); --i) {
      std::swap(chosen[i], chosen[i - 1]);
    }
  }
  float sum = 0;
  for (const ExpertChoice& choice : chosen) sum += choice.weight;
  for (ExpertChoice& choice : chosen) choice.weight /= sum;
}

}  // namespace assay::runtime
