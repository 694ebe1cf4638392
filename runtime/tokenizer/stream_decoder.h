// Token ids to text, one by one, as a model generates them. The bytes of one character may come in
// several tokens: they are held back until it is whole, or can no longer become one.
#pragma once

#include <string>

#include "runtime/tokenizer/tokenizer.h"

namespace assay::runtime {

// Where the first id stands. At the beginning of a text a llama vocabulary has one space more than
// the text; behind ids that are already shown it has not.
enum class Place { beginning, continued };

// Refers to the tokenizer. Whatever the ids are, what push() returned and finish() together are,
// for Place::beginning, what Tokenizer::decode() makes of them.
class StreamDecoder {
 public:
  StreamDecoder(const Tokenizer& tokenizer, Place place, Controls controls = Controls::hidden);

  // The text that is certain with this id; maybe empty.
  std::string push(TokenId id);
  // What is held back, at most 3 bytes; the next id is taken as the one behind it.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  Controls controls_;
  bool drop_space_;
  std::string held_;
};

}  // namespace assay::runtime
