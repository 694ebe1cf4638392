#include "probes/log/literal_set.h"

#include <algorithm>

namespace assay::probes {

LiteralSet::LiteralSet(std::span<const std::string_view> texts)
    : texts_(texts.begin(), texts.end()) {
  shortest_ = SIZE_MAX;
  for (const std::string_view text : texts_) shortest_ = std::min(shortest_, text.size());
  // A step is told in a byte.
  shortest_ = std::min<std::size_t>(shortest_, UINT8_MAX);
  const std::size_t farthest = shortest_ - block_bytes;
  steps_.fill(static_cast<std::uint8_t>(farthest + 1));
  std::vector<std::vector<std::uint16_t>> ending(hashes);
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    for (std::size_t at = 0; at <= farthest; ++at) {
      std::uint8_t& step = steps_[hash_of(texts_[i].data() + at)];
      step = std::min(step, static_cast<std::uint8_t>(farthest - at));
    }
    ending[hash_of(texts_[i].data() + farthest)].push_back(static_cast<std::uint16_t>(i));
  }
  for (std::size_t hash = 0; hash < hashes; ++hash) {
    first_[hash] = static_cast<std::uint16_t>(by_hash_.size());
    by_hash_.insert(by_hash_.end(), ending[hash].begin(), ending[hash].end());
  }
  first_[hashes] = static_cast<std::uint16_t>(by_hash_.size());
}

}  // namespace assay::probes
