#include "runtime/gguf/synth_vocabulary.h"

#include <fmt/core.h>

#include <string_view>

namespace assay::runtime::gguf {
namespace {

constexpr std::int32_t normal = 1;
constexpr std::int32_t unknown = 2;
constexpr std::int32_t control = 3;
constexpr std::int32_t byte = 6;

constexpr std::string_view space = "\u2581";  // as SentencePiece writes it
// By how often they are met in English text, so that the first pieces are the useful ones.
constexpr std::string_view letters = "etaoinsrhldcumfpgwybvkxjqz";

// Letters of word `number` of all words of `length` letters.
std::string word(std::uint64_t number, unsigned length) {
  std::string text;
  for (unsigned i = 0; i < length; ++i) {
    text.insert(text.begin(), letters[number % letters.size()]);
    number /= letters.size();
  }
  return text;
}

}  // namespace

SynthVocabulary synth_vocabulary(std::uint32_t count) {
  SynthVocabulary vocabulary;
  const auto add = [&](std::string token, float score, std::int32_t type) {
    vocabulary.tokens.push_back(std::move(token));
    vocabulary.scores.push_back(score);
    vocabulary.types.push_back(type);
  };
  add("<unk>", 0, unknown);
  add("<s>", 0, control);
  add("</s>", 0, control);
  for (unsigned i = 0; i < 256; ++i) add(fmt::format("<0x{:02X}>", i), 0, byte);
  // As in a trained one, a piece that is joined later has a lower score.
  float score = 0;
  const auto add_piece = [&](std::string piece) {
    if (vocabulary.tokens.size() < count) add(std::move(piece), --score, normal);
  };
  add_piece(std::string(space));
  for (char c = '!'; c <= '~'; ++c) add_piece(std::string(1, c));
  std::uint64_t words = letters.size();
  for (unsigned length = 1; vocabulary.tokens.size() < count; ++length) {
    for (std::uint64_t i = 0; i < words && vocabulary.tokens.size() < count; ++i) {
      if (length > 1) add_piece(word(i, length));
      add_piece(std::string(space) + word(i, length));
    }
    words *= letters.size();
  }
  return vocabulary;
}

}  // namespace assay::runtime::gguf
