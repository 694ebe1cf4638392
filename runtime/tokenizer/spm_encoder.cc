#include "runtime/tokenizer/spm_encoder.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "runtime/tokenizer/merge_symbols.h"
#include "runtime/tokenizer/utf8_char.h"

namespace assay::runtime {
namespace {

constexpr std::string_view space_mark = "\xE2\x96\x81";  // U+2581
constexpr TokenId no_token = 0xFFFF'FFFF;
// U+2581 in the text itself. As a token it would come back as a space.
constexpr TokenId literal_mark = 0xFFFF'FFFE;

using ByteTokens = std::array<TokenId, 256>;

// "<0x0A>" is 10; nothing for other texts.
std::optional<std::uint8_t> value_of_byte_token(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const std::size_t high = digits.find(text[3]);
  const std::size_t low = digits.find(text[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint8_t>(high << 4 | low);
}

// Nothing when the vocabulary has no byte tokens at all.
Result<std::optional<ByteTokens>> find_byte_tokens(const TokenIndex& index) {
  ByteTokens tokens{};
  std::size_t count = 0;
  for (TokenId id = 0; id < index.size(); ++id) {
    if (index.type(id) != TokenType::byte) continue;
    const auto value = value_of_byte_token(index.text(id));
    if (!value) {
      return bad_vocabulary(fmt::format("token {} is a byte token and not <0x00>..<0xFF>", id));
    }
    tokens[*value] = id;
    ++count;  // each value once: two tokens of one text were refused
  }
  if (count == 0) return std::nullopt;
  if (count != tokens.size()) {
    return bad_vocabulary(fmt::format("there are {} of the 256 byte tokens", count));
  }
  return tokens;
}

std::optional<TokenId> find_unknown(const Vocabulary& vocabulary, const TokenIndex& index) {
  if (vocabulary.unknown) return vocabulary.unknown;
  for (TokenId id = 0; id < index.size(); ++id) {
    if (index.type(id) == TokenType::unknown) return id;
  }
  return std::nullopt;
}

// Merges by the text of their result; of scores only the order matters.
std::unordered_map<std::string_view, Merge> merges_by_text(const Vocabulary& vocabulary,
                                                           const TokenIndex& index) {
  std::vector<TokenId> by_score;
  for (TokenId id = 0; id < index.size(); ++id) {
    if (index.type(id) == TokenType::normal) by_score.push_back(id);
  }
  const auto score = [&](TokenId id) { return vocabulary.scores[id]; };
  std::ranges::sort(by_score, std::greater<>(), score);
  std::unordered_map<std::string_view, Merge> merges;
  merges.reserve(by_score.size());
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < by_score.size(); ++i) {
    if (i > 0 && score(by_score[i]) != score(by_score[i - 1])) ++rank;
    merges.emplace(index.text(by_score[i]), Merge{rank, by_score[i]});
  }
  return merges;
}

// A text with its spaces as marks, and its characters.
struct MarkedText {
  std::string text;
  std::vector<Symbol> symbols;
};

class SpmEncoder final : public TextEncoder {
 public:
  SpmEncoder(const Vocabulary& vocabulary, const TokenIndex& index,
             const std::optional<ByteTokens>& byte_tokens, TokenId unknown)
      : index_(index),
        byte_tokens_(byte_tokens),
        unknown_(unknown),
        space_prefix_(has_space_prefix(vocabulary)),
        merges_(merges_by_text(vocabulary, index)) {
    for (const auto& [text, merge] : merges_) longest_ = std::max(longest_, text.size());
  }

  void append(std::string_view text, std::vector<TokenId>& ids) const override {
    if (text.empty()) return;
    MarkedText marked = mark(text);
    const auto find = [&](const Symbol& left, const Symbol& right) -> std::optional<Merge> {
      if (left.size + right.size > longest_ || left.id == literal_mark ||
          right.id == literal_mark) {
        return std::nullopt;
      }
      return merge_of(std::string_view(marked.text).substr(left.begin, left.size + right.size));
    };
    std::vector<WaitingPair> heap;
    merge_symbols(marked.symbols, heap, find);
    bool after_unknown = false;
    for (const Symbol& symbol : marked.symbols) {
      if (symbol.size == 0) continue;
      const std::string_view piece =
          std::string_view(marked.text).substr(symbol.begin, symbol.size);
      if (symbol.id != no_token && symbol.id != literal_mark) {
        ids.push_back(symbol.id);
        after_unknown = false;
      } else if (byte_tokens_) {
        const bool is_space = symbol.id == no_token && piece == space_mark;
        for (const char byte : is_space ? " " : piece) {
          ids.push_back((*byte_tokens_)[static_cast<std::uint8_t>(byte)]);
        }
      } else {
        // As sentencepiece: one for a run of unknown characters.
        if (!after_unknown) ids.push_back(unknown_);
        after_unknown = true;
      }
    }
  }

  std::string bytes_of(TokenId id) const override {
    std::string_view text = index_.text(id);
    if (index_.type(id) == TokenType::byte) {
      return std::string(1, static_cast<char>(value_of_byte_token(text).value_or(0)));
    }
    std::string bytes;
    while (!text.empty()) {
      const std::size_t mark_at = text.find(space_mark);
      bytes += text.substr(0, mark_at);
      if (mark_at == std::string_view::npos) break;
      bytes += ' ';
      text.remove_prefix(mark_at + space_mark.size());
    }
    return bytes;
  }

 private:
  std::optional<Merge> merge_of(std::string_view text) const {
    const auto found = merges_.find(text);
    if (found == merges_.end()) return std::nullopt;
    return found->second;
  }

  MarkedText mark(std::string_view text) const {
    MarkedText marked;
    marked.text.reserve(text.size() + text.size() / 2);
    const auto add = [&](std::string_view character, bool literal) {
      const auto known = merge_of(character);
      const TokenId id = literal ? literal_mark : known ? known->result : no_token;
      marked.symbols.push_back({static_cast<std::uint32_t>(marked.text.size()),
                                static_cast<std::uint32_t>(character.size()), id});
      marked.text += character;
    };
    if (space_prefix_) add(space_mark, false);
    while (!text.empty()) {
      const std::string_view character = text.substr(0, first_char(text).size);
      if (character == " ") {
        add(space_mark, false);
      } else {
        add(character, byte_tokens_ && character == space_mark);
      }
      text.remove_prefix(character.size());
    }
    return marked;
  }

  const TokenIndex& index_;
  std::optional<ByteTokens> byte_tokens_;
  TokenId unknown_;
  bool space_prefix_;
  std::unordered_map<std::string_view, Merge> merges_;
  std::size_t longest_ = 0;
};

}  // namespace

Result<std::unique_ptr<TextEncoder>> make_spm_encoder(const Vocabulary& vocabulary,
                                                      const TokenIndex& index) {
  if (vocabulary.scores.empty()) return bad_vocabulary("the tokens have no scores");
  const auto byte_tokens = find_byte_tokens(index);
  if (!byte_tokens) return std::unexpected(byte_tokens.error());
  const auto unknown = find_unknown(vocabulary, index);
  if (!*byte_tokens && !unknown) {
    return bad_vocabulary("there are no byte tokens and no unknown token");
  }
  return std::make_unique<SpmEncoder>(vocabulary, index, *byte_tokens, unknown.value_or(no_token));
}

bool has_space_prefix(const Vocabulary& vocabulary) {
  return vocabulary.model == "llama" && vocabulary.add_space_prefix.value_or(true);
}

}  // namespace assay::runtime
