// Cuts a text into the parts in which byte-level BPE joins tokens, as three published expressions
// do when they are matched again and again from where the last match ended:
//
// gpt-2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// llama-3  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//           ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// qwen2    as llama-3, with \p{N} in the place of \p{N}{1,3}
//
// Sources: openai/gpt-2 (encoder.py), meta-llama/llama3 (tokenizer.py), Qwen2's tokenizer.json.
// \p{L} and \p{N} are those of utf8proc's Unicode, \s is White_Space. A byte that is part of no
// character is taken for a symbol.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace assay::runtime {

enum class PreTokenizer { gpt2, llama3, qwen2 };

// By the names of tokenizer.ggml.pre; "default" and an empty one are gpt-2's.
std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name);

// For messages: "gpt-2, llama-bpe, ...".
std::string_view pre_tokenizer_names();

// The bytes of the first part of a text, which is not empty; at least 1. The parts of a text are
// found in O(n).
std::size_t first_part(PreTokenizer rules, std::string_view text);

}  // namespace assay::runtime
