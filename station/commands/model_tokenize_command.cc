// assay model tokenize: a text as the tokens that a model takes, by its own vocabulary.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "runtime/gguf/gguf_file.h"
#include "runtime/gguf/tokenizer_metadata.h"
#include "runtime/tokenizer/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"
#include "station/commands/model_file_commands.h"

namespace assay::station {
namespace {

namespace gguf = runtime::gguf;
using runtime::ChatTemplate;
using runtime::TokenId;
using runtime::Tokenizer;
using Json = nlohmann::ordered_json;

struct TokenizeOptions {
  std::string file;
  std::string text;
  bool specials = false;
  bool chat = false;
  bool json = false;
};

std::unexpected<Error> at_file(Error error, const std::string& path) {
  if (error.where.empty()) error.where = path;
  return std::unexpected(std::move(error));
}

Result<std::vector<TokenId>> as_chat(const gguf::Index& index, const Tokenizer& tokenizer,
                                     const std::string& text) {
  const auto token = [&](std::optional<TokenId> id) {
    return id ? std::string(tokenizer.token(*id)) : std::string();
  };
  const auto jinja = gguf::chat_template(index);
  if (jinja.empty()) return fail(ErrorKind::bad_file, "has no chat template");
  const auto chat = ChatTemplate::recognize(jinja, token(tokenizer.bos()), token(tokenizer.eos()));
  if (!chat) return std::unexpected(chat.error());
  const runtime::ChatMessage message{"user", text};
  const auto parts = chat->render({&message, 1}, runtime::NextTurn::assistant);
  if (!parts) return std::unexpected(parts.error());
  return tokenizer.encode(*parts, runtime::Ends::none);
}

Result<int> run_tokenize(const TokenizeOptions& options) {
  const auto file = gguf::GgufFile::open(options.file);
  if (!file) return std::unexpected(file.error());
  auto vocabulary = gguf::read_vocabulary(file->index());
  if (!vocabulary) return at_file(vocabulary.error(), options.file);
  const auto tokenizer = Tokenizer::create(std::move(*vocabulary));
  if (!tokenizer) return at_file(tokenizer.error(), options.file);
  std::string text = options.text;
  if (text == "-") text.assign(std::istreambuf_iterator<char>(std::cin), {});
  const auto specials = options.specials ? runtime::Specials::parse : runtime::Specials::text;
  const auto ids =
      options.chat ? as_chat(file->index(), *tokenizer, text) : tokenizer->encode(text, specials);
  if (!ids) return at_file(ids.error(), options.file);
  if (!options.json) {
    fmt::print("{}\n", fmt::join(*ids, " "));
    return 0;
  }
  Json tokens = Json::array();
  for (const TokenId id : *ids) {
    tokens.push_back({{"id", id}, {"token", to_valid_utf8(tokenizer->token(id))}});
  }
  const Json json{{"schema", "assay/tokens/1"},
                  {"count", ids->size()},
                  {"tokens", std::move(tokens)},
                  {"text", to_valid_utf8(tokenizer->decode(*ids, runtime::Controls::shown))}};
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
  return 0;
}

}  // namespace

void add_model_tokenize(CLI::App& model, Invocation& invocation) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* tokenize = model.add_subcommand("tokenize", "a text as the tokens that a model takes");
  tokenize->add_option("file", options->file, "a GGUF file")->required();
  tokenize->add_option("text", options->text, "the text, or - for standard input")->required();
  CLI::Option* specials =
      tokenize->add_flag("--specials", options->specials,
                         "\"</s>\" in the text is the token, and not four characters");
  tokenize
      ->add_flag("--chat", options->chat, "as a person's message in the model's own chat template")
      ->excludes(specials);
  tokenize->add_flag("--json", options->json, "as JSON: each id with its token");
  tokenize->footer(
      "Examples:\n"
      "  assay model tokenize model.gguf \"The sky\"\n"
      "  assay model tokenize model.gguf - --json < prompt.txt\n"
      "  assay model tokenize model.gguf --chat \"Why is the sky blue?\"");
  tokenize->callback([options, &invocation] {
    const auto code = run_tokenize(*options);
    invocation.exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace assay::station
