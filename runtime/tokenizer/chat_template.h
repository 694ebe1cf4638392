// A conversation as the text that a model was trained to continue.
//
// A GGUF file has this as a program for Jinja (tokenizer.chat_template). No program of a file's is
// run here: which of four families it belongs to is told by the tokens and texts in it, and what a
// family writes is written here, as its published templates do without tools.
//
// - ChatML (qwen2, qwen2.5): <|im_start|>ROLE\nTEXT<|im_end|>\n. The system message with which the
//   template begins a conversation that has none is taken from it. What qwen3 adds for thinking is
//   not written.
// - llama-3 (3.1 and 3.2 too): <|start_header_id|>ROLE<|end_header_id|>\n\nTEXT<|eot_id|>, texts
//   without white space around them. A template with "Cutting Knowledge Date" begins with a system
//   message of its dates; today is the date that stands in the template, so that the same
//   conversation is the same text on every day.
// - llama-2: <s>[INST] TEXT [/INST] TEXT </s>, the system message between <<SYS>> and <</SYS>>.
// - Mistral and Mixtral instruct: <s>[INST] TEXT [/INST]TEXT</s>, with the spaces that the template
//   has; the system message, where the template takes one, in front of the text of the first user's
//   turn, of the last user's, or of the last turn if it is a user's, as the template says. With
//   Mixtral's vocabulary [INST] is no token: a person who writes it cannot be told from the
//   template, here as anywhere.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/tokenizer/tokenizer.h"

namespace assay::runtime {

enum class ChatFamily { chatml, llama3, llama2, mistral };

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

// What follows the conversation, also where a template always opens the assistant's turn, or never.
enum class NextTurn { none, assistant };

class ChatTemplate {
 public:
  // `bos` and `eos` are the texts of these tokens, empty when the vocabulary has none. Errors:
  // bad_file for a template of another family.
  static Result<ChatTemplate> recognize(std::string_view jinja, std::string bos, std::string eos);

  ChatFamily family() const { return family_; }

  // The token with which the assistant's turn ends: <|im_end|>, <|eot_id|> or eos.
  std::string_view end_of_turn() const;

  // For Tokenizer::encode(parts, Ends::none): bos is in it where it belongs. What the template says
  // is looked through for special tokens, what a message says is not. A family without a mark for
  // the assistant's turn (llama-2, Mistral) has none to add for `next`. Errors: usage for no
  // messages or another role; with llama-2 and Mistral also for turns that do not alternate, from
  // the user's on, and for a system message that is not the first or that the template refuses.
  Result<std::vector<TextPart>> render(std::span<const ChatMessage> messages, NextTurn next) const;

 private:
  enum class SystemPlace { nowhere, first_user, last_user, last_turn };
  // How a [INST] template writes.
  struct Instruct {
    std::string open;
    std::string close;
    std::string answer;  // in front of the assistant's text
    SystemPlace system = SystemPlace::nowhere;
    bool trim_answer = false;
  };

  void read_chatml(std::string_view jinja);
  void read_llama3(std::string_view jinja);
  void read_mistral(std::string_view jinja);
  std::vector<TextPart> render_chatml(std::span<const ChatMessage> messages, NextTurn next) const;
  std::vector<TextPart> render_llama3(std::span<const ChatMessage> messages, NextTurn next) const;
  std::vector<TextPart> render_llama2(std::span<const ChatMessage> turns,
                                      const ChatMessage* system) const;
  std::vector<TextPart> render_mistral(std::span<const ChatMessage> turns,
                                       const ChatMessage* system) const;

  ChatFamily family_ = ChatFamily::chatml;
  std::string bos_;
  std::string eos_;
  std::string default_system_;  // ChatML; empty: none
  std::string preamble_;        // llama-3.1: what its system message begins with; empty: none
  Instruct instruct_;           // Mistral
};

}  // namespace assay::runtime
