// runtime/tokenizer: a vocabulary of anyone's, and text in and out of it.
#include "runtime/tokenizer/tokenizer.h"

#include <array>
#include <charconv>

#include "runtime/tokenizer/stream_decoder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/runtime/tokenizer/vocabularies.h"

using assay::fuzz::require;
using namespace assay::runtime;

namespace {

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

int number_of(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// A line each: "bytes" (all tokens for bytes), "merge LEFT RIGHT", "bos ID", "prefix 0",
// "TYPE SCORE TEXT". An empty line ends it; what follows is the text.
Vocabulary read_vocabulary(std::string_view& input) {
  Vocabulary vocabulary;
  vocabulary.model = take_until(input, ' ');
  vocabulary.pre = take_until(input, '\n');
  while (!input.empty()) {
    std::string_view line = take_until(input, '\n');
    if (line.empty()) break;
    const std::string_view word = take_until(line, ' ');
    if (word == "bytes") {
      auto with_bytes = vocabulary.model == "gpt2" ? assay::test::gpt2_vocabulary("", {})
                                                   : assay::test::llama_vocabulary({});
      with_bytes.model = vocabulary.model;
      with_bytes.pre = vocabulary.pre;
      with_bytes.scores.resize(with_bytes.tokens.size());
      vocabulary = std::move(with_bytes);
    } else if (word == "merge") {
      vocabulary.merges.emplace_back(line);
    } else if (word == "bos") {
      vocabulary.bos = number_of(line);
    } else if (word == "prefix") {
      vocabulary.add_space_prefix = number_of(line) != 0;
    } else {
      const int score = number_of(take_until(line, ' '));
      assay::test::add_token(vocabulary, std::string(line), static_cast<float>(score),
                             static_cast<TokenType>(number_of(word)));
    }
  }
  return vocabulary;
}

// A llama vocabulary without byte tokens loses what it does not know.
bool writes_every_byte(const Vocabulary& vocabulary) {
  for (const std::int32_t type : vocabulary.types) {
    if (type == static_cast<std::int32_t>(TokenType::byte)) return true;
  }
  return vocabulary.model == "gpt2";
}

void require_streams(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  StreamDecoder decoder(tokenizer, Place::beginning, Controls::shown);
  std::string text;
  for (const TokenId id : ids) text += decoder.push(id);
  require(text + decoder.finish() == tokenizer.decode(ids, Controls::shown),
          "ids decode one by one as together");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = assay::fuzz::text_of(data, size);
  const Vocabulary vocabulary = read_vocabulary(input);
  const bool exact = writes_every_byte(vocabulary);
  const auto tokenizer = Tokenizer::create(vocabulary);
  if (!tokenizer) {
    const assay::Error& error = tokenizer.error();
    require(error.kind == assay::ErrorKind::bad_file && !error.what.empty(), "an error says what");
    require(error.what.find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  for (const Specials specials : {Specials::text, Specials::parse}) {
    const auto ids = tokenizer->encode(input, specials, Ends::none);
    require(ids.has_value(), "any text has ids");
    for (const TokenId id : *ids) {
      require(id < vocabulary.tokens.size(), "an id is in the vocabulary");
      const auto type = static_cast<TokenType>(vocabulary.types[id]);
      require(specials == Specials::parse ||
                  (type != TokenType::control && type != TokenType::user_defined),
              "text is not a token that plays a part");
    }
    require(!exact || tokenizer->decode(*ids, Controls::shown) == input, "text comes back");
    require_streams(*tokenizer, *ids);
    assay::fuzz::reached(std::to_string(ids->size()) + " ids");
  }
  const std::array<TextPart, 2> parts{
      TextPart{std::string(input.substr(0, input.size() / 2)), Specials::text},
      TextPart{std::string(input.substr(input.size() / 2)), Specials::text}};
  const auto in_parts = tokenizer->encode(parts, Ends::as_trained);
  const auto whole = tokenizer->encode(input);
  require(in_parts && whole && *in_parts == *whole, "text in parts is the same text");
  // Bytes as ids: nothing that encode() would make.
  const std::vector<TokenId> any(input.begin(), input.end());
  require_streams(*tokenizer, any);
  return 0;
}
