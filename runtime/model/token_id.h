// A token's place in the vocabulary.
#pragma once

#include <cstdint>

namespace assay::runtime {

using TokenId = std::uint32_t;

}  // namespace assay::runtime
