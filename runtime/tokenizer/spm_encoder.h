// SentencePiece's BPE: see runtime/tokenizer/tokenizer.h.
#pragma once

#include <memory>

#include "base/result.h"
#include "runtime/tokenizer/text_encoder.h"
#include "runtime/tokenizer/token_index.h"

namespace assay::runtime {

// The encoder refers to the index. Errors: bad_file.
Result<std::unique_ptr<TextEncoder>> make_spm_encoder(const Vocabulary& vocabulary,
                                                      const TokenIndex& index);

// Whether a space is put in front of each text.
bool has_space_prefix(const Vocabulary& vocabulary);

}  // namespace assay::runtime
