// Text to token ids and back, as the model was trained with.
//
// Two kinds of vocabulary:
// - "llama": SentencePiece's BPE (Kudo and Richardson 2018). A space is U+2581, one more stands in
//   front of a text, pieces are joined by score, the leftmost of equal ones first, and a character
//   without a token becomes the byte tokens <0x00>..<0xFF>.
// - "gpt2": BPE on bytes (Radford et al. 2019). A text is cut by one of three published expressions
//   (gpt-2, llama-3, qwen2; runtime/tokenizer/pre_tokenizer.h), and in each part pairs are joined
//   by the rank of their merge.
//
// What is the same for both:
// - Any bytes come back: decode(encode(text)) is the text, also where it is no valid UTF-8. The one
//   exception is a llama vocabulary without byte tokens, which has its unknown token for a
//   character that it does not know. For that reason no text is normalized (qwen2's published
//   tokenizer makes NFC of it), and a U+2581 of the text itself is written in byte tokens.
// - A text never becomes a control, user-defined or unused token, unless it was asked to be looked
//   through for them. So a person's text cannot play the part of a template's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/tokenizer/vocabulary.h"

namespace assay::runtime {

enum class Specials {
  text,   // "</s>" is four characters
  parse,  // "</s>" is the token, if it is a control or user-defined one; where several begin at one
          // place, the longest
};

// Whether bos and eos stand around a text.
enum class Ends { none, as_trained };

// A part of a text that is tokenized as a whole: only in parts with Specials::parse tokens are
// looked for, and what lies between two of them is joined across parts before it is tokenized.
struct TextPart {
  std::string text;
  Specials specials = Specials::text;

  bool operator==(const TextPart&) const = default;
};

// What becomes of control and unknown tokens in decoded text. An unused token never has a text, and
// neither has an id outside the vocabulary; a user-defined one always has.
enum class Controls { hidden, shown };

struct TokenText;

// Can be moved. Calls on it are safe from any thread.
class Tokenizer {
 public:
  // Errors: bad_file, one line, for anything in the vocabulary that contradicts itself or is not
  // enough to write every byte: no tokens, sizes that differ, two tokens of one text, one that is
  // empty, longer than 4096 bytes or no valid UTF-8, an id outside, some byte tokens but not all, a
  // merge whose parts or result are no tokens; an unknown model or `pre`, with the names of the
  // known ones as the hint. Without `pre`, or with "default", a gpt2 vocabulary is cut as gpt-2
  // does.
  static Result<Tokenizer> create(Vocabulary vocabulary);
  Tokenizer(Tokenizer&& other) noexcept;
  Tokenizer& operator=(Tokenizer&& other) noexcept;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  ~Tokenizer();

  // In O(n log n) of the text's bytes. Errors: usage for a text of more than 1 GiB.
  Result<std::vector<TokenId>> encode(std::string_view text, Specials specials = Specials::text,
                                      Ends ends = Ends::as_trained) const;
  Result<std::vector<TokenId>> encode(std::span<const TextPart> parts, Ends ends) const;

  // The text that ids from the beginning of a text on stand for. What is left of a character whose
  // bytes are not all there comes as it is. While ids are still being generated, StreamDecoder
  // (runtime/tokenizer/stream_decoder.h).
  std::string decode(std::span<const TokenId> ids, Controls controls = Controls::hidden) const;

  std::size_t size() const;
  // A token as the vocabulary writes it; empty for an id outside it.
  std::string_view token(TokenId id) const;
  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;

  // For decoders: what one id stands for.
  TokenText text_of(TokenId id) const;
  // For decoders: a space was put in front of each text that was encoded.
  bool has_space_prefix() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);

  std::unique_ptr<const Parts> parts_;
};

struct TokenText {
  std::string_view bytes;
  bool control = false;      // hidden unless asked for
  bool begins_text = false;  // what follows was encoded as a text of its own
};

}  // namespace assay::runtime
