// What the expressions of tokenizers and templates ask of a character.
#pragma once

#include <cstdint>

namespace assay::runtime {

enum class CharKind : std::uint8_t {
  letter,  // \p{L}
  number,  // \p{N}
  space,   // \s: Unicode's White_Space
  other,
  end,  // no character: the end of a text
};

CharKind kind_of(char32_t code);

}  // namespace assay::runtime
