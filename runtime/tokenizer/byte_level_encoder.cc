#include "runtime/tokenizer/byte_level_encoder.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "base/utf8.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/merge_table.h"
#include "runtime/tokenizer/pre_tokenizer.h"

namespace assay::runtime {
namespace {

using LetterTokens = std::array<TokenId, 256>;

Result<LetterTokens> find_letter_tokens(const TokenIndex& index) {
  LetterTokens tokens{};
  for (unsigned byte = 0; byte < tokens.size(); ++byte) {
    const auto id = index.find_normal(letter_of(static_cast<std::uint8_t>(byte)));
    if (!id) return bad_vocabulary(fmt::format("there is no token for the byte 0x{:02X}", byte));
    tokens[byte] = *id;
  }
  return tokens;
}

Result<> check_letters(const TokenIndex& index) {
  for (TokenId id = 0; id < index.size(); ++id) {
    if (index.type(id) == TokenType::byte) {
      return bad_vocabulary(fmt::format("token {} is a byte token, which gpt2 has none of", id));
    }
    if (index.type(id) == TokenType::normal && !bytes_of_letters(index.text(id))) {
      return bad_vocabulary(fmt::format("token {} has a character that stands for no byte", id));
    }
  }
  return {};
}

class ByteLevelEncoder final : public TextEncoder {
 public:
  ByteLevelEncoder(const TokenIndex& index, PreTokenizer rules, const LetterTokens& letters,
                   MergeTable merges)
      : index_(index), rules_(rules), letters_(letters), merges_(std::move(merges)) {}

  void append(std::string_view text, std::vector<TokenId>& ids) const override {
    Room room;
    while (!text.empty()) {
      const std::size_t size = first_part(rules_, text);
      append_part(text.substr(0, size), ids, room);
      text.remove_prefix(size);
    }
  }

  std::string bytes_of(TokenId id) const override {
    return bytes_of_letters(index_.text(id)).value_or("");
  }

 private:
  // Used again for each part of a text.
  struct Room {
    std::vector<Symbol> symbols;
    std::vector<WaitingPair> heap;
    std::string letters;
  };

  void append_part(std::string_view part, std::vector<TokenId>& ids, Room& room) const {
    // llama-3's tokenizer takes a part that is a token as it is, whatever the merges would make of
    // it.
    if (rules_ == PreTokenizer::llama3) {
      room.letters.clear();
      for (const char byte : part) room.letters += letter_of(static_cast<std::uint8_t>(byte));
      if (const auto id = index_.find_normal(room.letters)) return ids.push_back(*id);
    }
    room.symbols.clear();
    for (std::uint32_t i = 0; i < part.size(); ++i) {
      room.symbols.push_back({i, 1, letters_[static_cast<std::uint8_t>(part[i])]});
    }
    merge_symbols(room.symbols, room.heap, [&](const Symbol& left, const Symbol& right) {
      return merges_.find(left.id, right.id);
    });
    for (const Symbol& symbol : room.symbols) {
      if (symbol.size != 0) ids.push_back(symbol.id);
    }
  }

  const TokenIndex& index_;
  PreTokenizer rules_;
  LetterTokens letters_;
  MergeTable merges_;
};

}  // namespace

Result<std::unique_ptr<TextEncoder>> make_byte_level_encoder(const Vocabulary& vocabulary,
                                                             const TokenIndex& index) {
  const auto rules = find_pre_tokenizer(vocabulary.pre);
  if (!rules) {
    return fail(ErrorKind::bad_file,
                fmt::format("tokenizer.ggml.pre is unknown: {}", to_printable(vocabulary.pre)), {},
                fmt::format("known are {}", pre_tokenizer_names()));
  }
  const auto letters = find_letter_tokens(index);
  if (!letters) return std::unexpected(letters.error());
  if (auto sound = check_letters(index); !sound) return std::unexpected(std::move(sound.error()));
  auto merges = MergeTable::create(vocabulary.merges, index);
  if (!merges) return std::unexpected(std::move(merges.error()));
  return std::make_unique<ByteLevelEncoder>(index, *rules, *letters, std::move(*merges));
}

}  // namespace assay::runtime
