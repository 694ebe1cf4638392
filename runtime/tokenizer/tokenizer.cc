#include "runtime/tokenizer/tokenizer.h"

#include <fmt/core.h>

#include <utility>

#include "base/utf8.h"
#include "runtime/tokenizer/byte_level_encoder.h"
#include "runtime/tokenizer/pre_tokenizer.h"
#include "runtime/tokenizer/special_finder.h"
#include "runtime/tokenizer/spm_encoder.h"
#include "runtime/tokenizer/stream_decoder.h"

namespace assay::runtime {
namespace {

constexpr std::size_t most_text_bytes = std::size_t{1} << 30;

// What files without the key mean: SentencePiece's and llama-3's models begin with bos.
bool adds_bos(const Vocabulary& vocabulary) {
  const bool usual =
      vocabulary.model == "llama" || find_pre_tokenizer(vocabulary.pre) == PreTokenizer::llama3;
  return vocabulary.bos && vocabulary.add_bos.value_or(usual);
}

Result<std::unique_ptr<TextEncoder>> make_encoder(const Vocabulary& vocabulary,
                                                  const TokenIndex& index) {
  if (vocabulary.model == "llama") return make_spm_encoder(vocabulary, index);
  if (vocabulary.model == "gpt2") return make_byte_level_encoder(vocabulary, index);
  return fail(ErrorKind::bad_file,
              fmt::format("tokenizer.ggml.model is unknown: {}", to_printable(vocabulary.model)),
              {}, "known are llama, gpt2");
}

}  // namespace

// What refers to other parts is made last; all stay where they are when the Tokenizer is moved.
struct Tokenizer::Parts {
  Parts(std::unique_ptr<Vocabulary> given, TokenIndex its_index)
      : vocabulary(std::move(given)), index(std::move(its_index)), specials(index) {}

  std::string bytes_of(TokenId id) const {
    switch (index.type(id)) {
      case TokenType::normal:
      case TokenType::byte:
        return encoder->bytes_of(id);
      case TokenType::unknown:
      case TokenType::control:
      case TokenType::user_defined:
        return std::string(index.text(id));
      case TokenType::unused:
        return {};
    }
    std::unreachable();
  }

  std::unique_ptr<Vocabulary> vocabulary;
  TokenIndex index;
  SpecialFinder specials;
  std::unique_ptr<TextEncoder> encoder;
  std::vector<std::string> bytes;  // of each token
};

Result<Tokenizer> Tokenizer::create(Vocabulary vocabulary) {
  auto kept = std::make_unique<Vocabulary>(std::move(vocabulary));
  auto index = TokenIndex::create(*kept);
  if (!index) return std::unexpected(std::move(index.error()));
  auto parts = std::make_unique<Parts>(std::move(kept), std::move(*index));
  auto encoder = make_encoder(*parts->vocabulary, parts->index);
  if (!encoder) return std::unexpected(std::move(encoder.error()));
  parts->encoder = std::move(*encoder);
  parts->vocabulary->merges = {};
  parts->bytes.reserve(parts->index.size());
  for (TokenId id = 0; id < parts->index.size(); ++id) parts->bytes.push_back(parts->bytes_of(id));
  return Tokenizer(std::move(parts));
}

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&& other) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&& other) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, Specials specials,
                                               Ends ends) const {
  const TextPart part{std::string(text), specials};
  return encode(std::span(&part, 1), ends);
}

Result<std::vector<TokenId>> Tokenizer::encode(std::span<const TextPart> parts, Ends ends) const {
  std::size_t size = 0;
  for (const TextPart& part : parts) size += part.text.size();
  if (size > most_text_bytes) {
    return fail(ErrorKind::usage,
                fmt::format("the text has {} bytes, and 1 GiB is the most", size));
  }
  const Vocabulary& vocabulary = *parts_->vocabulary;
  std::vector<TokenId> ids;
  if (ends == Ends::as_trained && adds_bos(vocabulary)) ids.push_back(*vocabulary.bos);
  // What lies between two special tokens.
  std::string plain;
  const auto encode_plain = [&] {
    parts_->encoder->append(plain, ids);
    plain.clear();
  };
  for (const TextPart& part : parts) {
    std::size_t from = 0;
    while (part.specials == Specials::parse) {
      const auto found = parts_->specials.next(part.text, from);
      if (!found) break;
      plain.append(part.text, from, found->at - from);
      encode_plain();
      ids.push_back(found->id);
      from = found->at + found->size;
    }
    plain.append(part.text, from);
  }
  encode_plain();
  if (ends == Ends::as_trained && vocabulary.eos && vocabulary.add_eos.value_or(false)) {
    ids.push_back(*vocabulary.eos);
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, Controls controls) const {
  StreamDecoder decoder(*this, Place::beginning, controls);
  std::string text;
  for (const TokenId id : ids) text += decoder.push(id);
  return text + decoder.finish();
}

std::size_t Tokenizer::size() const {
  return parts_->index.size();
}

std::string_view Tokenizer::token(TokenId id) const {
  return id < size() ? parts_->index.text(id) : std::string_view();
}

std::optional<TokenId> Tokenizer::bos() const {
  return parts_->vocabulary->bos;
}

std::optional<TokenId> Tokenizer::eos() const {
  return parts_->vocabulary->eos;
}

TokenText Tokenizer::text_of(TokenId id) const {
  if (id >= size()) return {};
  const TokenType type = parts_->index.type(id);
  return {.bytes = parts_->bytes[id],
          .control = type == TokenType::control || type == TokenType::unknown,
          .begins_text = type == TokenType::control || type == TokenType::user_defined};
}

bool Tokenizer::has_space_prefix() const {
  return assay::runtime::has_space_prefix(*parts_->vocabulary);
}

}  // namespace assay::runtime
