// What a GGUF file's metadata says of its tokenizer (ggml, docs/gguf.md, "Tokenizer"): plain data,
// as it stands in the file. Nobody has checked it; Tokenizer::create() does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/token_id.h"

namespace assay::runtime {

// The values are the numbers that stand in a file.
enum class TokenType : std::int32_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6,
};

// Each member says which key it comes from; what the file does not have stays empty.
struct Vocabulary {
  std::string model;                     // tokenizer.ggml.model: "llama" (SentencePiece) or "gpt2"
  std::string pre;                       // tokenizer.ggml.pre, for "gpt2"
  std::vector<std::string> tokens;       // tokenizer.ggml.tokens; a token's id is its place
  std::vector<float> scores;             // tokenizer.ggml.scores, for "llama"
  std::vector<std::int32_t> types;       // tokenizer.ggml.token_type; empty: all are normal
  std::vector<std::string> merges;       // tokenizer.ggml.merges: "left right", for "gpt2"
  std::optional<TokenId> bos;            // tokenizer.ggml.bos_token_id
  std::optional<TokenId> eos;            // tokenizer.ggml.eos_token_id
  std::optional<TokenId> unknown;        // tokenizer.ggml.unknown_token_id
  std::optional<TokenId> padding;        // tokenizer.ggml.padding_token_id
  std::optional<bool> add_bos;           // tokenizer.ggml.add_bos_token
  std::optional<bool> add_eos;           // tokenizer.ggml.add_eos_token
  std::optional<bool> add_space_prefix;  // tokenizer.ggml.add_space_prefix, for "llama"
};

}  // namespace assay::runtime
