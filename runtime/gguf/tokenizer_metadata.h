// The tokenizer that a GGUF file brings along: the metadata under "tokenizer.".
#pragma once

#include "base/result.h"
#include "runtime/gguf/index.h"
#include "runtime/tokenizer/vocabulary.h"

namespace assay::runtime::gguf {

// Errors: bad_file, one line, for a file without tokens and for a key of another type; `where` is
// left to the caller. What the keys say together is for Tokenizer::create() to judge.
Result<Vocabulary> read_vocabulary(const Index& index);

// tokenizer.chat_template; empty when there is none.
std::string_view chat_template(const Index& index);

}  // namespace assay::runtime::gguf
