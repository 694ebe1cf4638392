// Which experts a token goes to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::runtime {

struct ExpertChoice {
  std::uint32_t expert = 0;
  float weight = 0;  // those of a token add up to 1
};

// The chosen.size() experts with the largest logits, largest first; of equal ones the lowest
// number. Their weights are softmax over all experts, divided by the sum of those chosen (Jiang et
// al. 2024, "Mixtral of experts", section 2.1). `logits` become the softmax; there are at least as
// many as chosen.
void choose_experts(std::span<float> logits, std::span<ExpertChoice> chosen);

}  // namespace assay::runtime
