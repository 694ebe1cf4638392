#include "runtime/gguf/tokenizer_metadata.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace assay::runtime::gguf {
namespace {

// Reads keys into members and keeps the first error.
class TokenizerKeys {
 public:
  explicit TokenizerKeys(const Index& index) : index_(index) {}

  const std::optional<Error>& error() const { return error_; }

  void text(std::string_view key, std::string& into) {
    read(key, "a text", [&](const Value& value) {
      const auto found = value.text();
      if (found) into = *found;
      return found.has_value();
    });
  }
  void texts(std::string_view key, std::vector<std::string>& into) {
    read(key, "an array of texts", [&](const Value& value) {
      const auto found = value.texts();
      if (found) into.assign(found->begin(), found->end());
      return found.has_value();
    });
  }
  void reals(std::string_view key, std::vector<float>& into) {
    read(key, "an array of numbers", [&](const Value& value) {
      const auto found = value.numbers();
      if (!found) return false;
      for (const double number : *found) into.push_back(static_cast<float>(number));
      return true;
    });
  }
  void integers(std::string_view key, std::vector<std::int32_t>& into) {
    read(key, "an array of whole numbers of 32 bits", [&](const Value& value) {
      const auto found = value.numbers();
      if (!found) return false;
      for (const double number : *found) {
        if (!(std::abs(number) <= std::numeric_limits<std::int32_t>::max())) return false;
        into.push_back(static_cast<std::int32_t>(number));
      }
      return true;
    });
  }
  void id(std::string_view key, std::optional<TokenId>& into) {
    read(key, "a token's id", [&](const Value& value) {
      const auto found = value.unsigned_integer();
      if (!found || *found > std::numeric_limits<TokenId>::max()) return false;
      into = static_cast<TokenId>(*found);
      return true;
    });
  }
  void truth(std::string_view key, std::optional<bool>& into) {
    read(key, "true or false", [&](const Value& value) {
      into = value.boolean();
      return into.has_value();
    });
  }

 private:
  template <class Take>
  void read(std::string_view key, std::string_view wanted, Take take) {
    const std::string full = fmt::format("tokenizer.ggml.{}", key);
    const Value* value = index_.find(full);
    if (value == nullptr || error_ || take(*value)) return;
    error_ = Error{ErrorKind::bad_file,
                   fmt::format("{} is {}, and not {}", full, value->shown(), wanted),
                   {},
                   {}};
  }

  const Index& index_;
  std::optional<Error> error_;
};

}  // namespace

Result<Vocabulary> read_vocabulary(const Index& index) {
  if (index.find("tokenizer.ggml.tokens") == nullptr) {
    return fail(ErrorKind::bad_file, "has no tokenizer: tokenizer.ggml.tokens is missing");
  }
  Vocabulary vocabulary;
  TokenizerKeys keys(index);
  keys.text("model", vocabulary.model);
  keys.text("pre", vocabulary.pre);
  keys.texts("tokens", vocabulary.tokens);
  keys.reals("scores", vocabulary.scores);
  keys.integers("token_type", vocabulary.types);
  keys.texts("merges", vocabulary.merges);
  keys.id("bos_token_id", vocabulary.bos);
  keys.id("eos_token_id", vocabulary.eos);
  keys.id("unknown_token_id", vocabulary.unknown);
  keys.id("padding_token_id", vocabulary.padding);
  keys.truth("add_bos_token", vocabulary.add_bos);
  keys.truth("add_eos_token", vocabulary.add_eos);
  keys.truth("add_space_prefix", vocabulary.add_space_prefix);
  if (keys.error()) return std::unexpected(*keys.error());
  return vocabulary;
}

std::string_view chat_template(const Index& index) {
  const Value* value = index.find("tokenizer.chat_template");
  return value == nullptr ? std::string_view() : value->text().value_or(std::string_view());
}

}  // namespace assay::runtime::gguf
