// The tokens of a synthetic model: a SentencePiece vocabulary that has every byte, so that any text
// is tokenized, and pieces of letters in the frequency of nothing but their length.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::runtime::gguf {

struct SynthVocabulary {
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<std::int32_t> types;  // of tokenizer.ggml.token_type: 1 normal ... 6 byte
};

// The fewest tokens that it can have: those of control, the bytes, and printable ASCII.
inline constexpr std::uint32_t least_synth_tokens = 512;

// Exactly `count` tokens, from least_synth_tokens up. 0 is <unk>, 1 <s>, 2 </s>, 3..258 are bytes.
SynthVocabulary synth_vocabulary(std::uint32_t count);

}  // namespace assay::runtime::gguf
