#include "runtime/tokenizer/chat_template.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "runtime/tokenizer/template_text.h"

namespace assay::runtime {
namespace {

// Neighbours of one kind become one part.
class PartWriter {
 public:
  void fixed(std::string_view text) { add(text, Specials::parse); }
  void content(std::string_view text) { add(text, Specials::text); }
  std::vector<TextPart> take() { return std::move(parts_); }

 private:
  void add(std::string_view text, Specials specials) {
    if (text.empty()) return;
    if (parts_.empty() || parts_.back().specials != specials) parts_.push_back({"", specials});
    parts_.back().text += text;
  }

  std::vector<TextPart> parts_;
};

bool has(std::string_view jinja, std::string_view text) {
  return jinja.find(text) != std::string_view::npos;
}

std::unexpected<Error> bad_conversation(std::string what) {
  return fail(ErrorKind::usage, std::move(what));
}

Result<> check_roles(std::span<const ChatMessage> messages) {
  if (messages.empty()) return bad_conversation("a conversation has no messages");
  for (const ChatMessage& message : messages) {
    if (message.role != "system" && message.role != "user" && message.role != "assistant") {
      return bad_conversation(fmt::format("the role {} is not one of system, user, assistant",
                                          to_printable(message.role)));
    }
  }
  return {};
}

Result<> check_turns(std::span<const ChatMessage> turns) {
  if (turns.empty()) return bad_conversation("a conversation has no message of a user");
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const std::string_view expected = i % 2 == 0 ? "user" : "assistant";
    if (turns[i].role != expected) {
      return bad_conversation(
          fmt::format("with this model turns alternate between user and assistant, and "
                      "message {} of them is of the {}",
                      i + 1, turns[i].role));
    }
  }
  return {};
}

}  // namespace

Result<ChatTemplate> ChatTemplate::recognize(std::string_view jinja, std::string bos,
                                             std::string eos) {
  ChatTemplate made;
  made.bos_ = std::move(bos);
  made.eos_ = std::move(eos);
  if (has(jinja, "<|im_start|>") && has(jinja, "<|im_end|>") && !has(jinja, "<|im_sep|>")) {
    made.family_ = ChatFamily::chatml;
    made.read_chatml(jinja);
  } else if (has(jinja, "<|start_header_id|>") && has(jinja, "<|eot_id|>")) {
    made.family_ = ChatFamily::llama3;
    made.read_llama3(jinja);
  } else if (has(jinja, "[INST]") && has(jinja, "<<SYS>>")) {
    made.family_ = ChatFamily::llama2;
  } else if (has(jinja, "[INST]") && !has(jinja, "[SYSTEM_PROMPT]")) {
    made.family_ = ChatFamily::mistral;
    made.read_mistral(jinja);
  } else {
    return fail(ErrorKind::bad_file, "the chat template is of an unknown family", {},
                "known are ChatML (<|im_start|>), llama-3 (<|start_header_id|>), llama-2 and "
                "Mistral ([INST])");
  }
  return made;
}

void ChatTemplate::read_chatml(std::string_view jinja) {
  for (const std::string_view begin : {"<|im_start|>system\\n", "<|im_start|>system\n"}) {
    if (auto text = text_between(jinja, begin, "<|im_end|>")) {
      default_system_ = std::move(*text);
      return;
    }
  }
}

void ChatTemplate::read_llama3(std::string_view jinja) {
  constexpr std::string_view key = "Cutting Knowledge Date: ";
  const auto cutting = text_between(jinja, key, "\\n");
  const auto today = text_between(jinja, "date_string = \"", "\"");
  if (cutting && today) preamble_ = fmt::format("{}{}\nToday Date: {}\n\n", key, *cutting, *today);
}

void ChatTemplate::read_mistral(std::string_view jinja) {
  const bool space_before = has(jinja, "' [INST]") || has(jinja, "\" [INST]");
  instruct_.open =
      fmt::format("{}[INST]{}", space_before ? " " : "", has(jinja, "[INST] ") ? " " : "");
  instruct_.close = has(jinja, " [/INST]") ? " [/INST]" : "[/INST]";
  for (const std::string_view lead : {"' ' + message", "\" \" + message"}) {
    if (has(jinja, lead)) instruct_.answer = " ";
  }
  for (const std::string_view filter : {"message[\"content\"]|trim", "message['content']|trim"}) {
    if (has(jinja, filter)) instruct_.trim_answer = true;
  }
  if (has(jinja, "system_message")) {
    // In templates with tools both are asked for other things too.
    instruct_.system = has(jinja, "loop.last and system_message") ? SystemPlace::last_turn
                       : has(jinja, "user_messages[-1]")          ? SystemPlace::last_user
                                                                  : SystemPlace::first_user;
  }
}

std::string_view ChatTemplate::end_of_turn() const {
  switch (family_) {
    case ChatFamily::chatml:
      return "<|im_end|>";
    case ChatFamily::llama3:
      return "<|eot_id|>";
    case ChatFamily::llama2:
    case ChatFamily::mistral:
      return eos_;
  }
  std::unreachable();
}

Result<std::vector<TextPart>> ChatTemplate::render(std::span<const ChatMessage> messages,
                                                   NextTurn next) const {
  if (auto sound = check_roles(messages); !sound) return std::unexpected(std::move(sound.error()));
  if (family_ == ChatFamily::chatml) return render_chatml(messages, next);
  if (family_ == ChatFamily::llama3) return render_llama3(messages, next);
  const ChatMessage* system = messages.front().role == "system" ? &messages.front() : nullptr;
  const auto turns = messages.subspan(system != nullptr ? 1 : 0);
  if (auto sound = check_turns(turns); !sound) return std::unexpected(std::move(sound.error()));
  if (family_ == ChatFamily::llama2) return render_llama2(turns, system);
  if (system != nullptr && instruct_.system == SystemPlace::nowhere) {
    return bad_conversation("this model's template takes no system message");
  }
  return render_mistral(turns, system);
}

std::vector<TextPart> ChatTemplate::render_chatml(std::span<const ChatMessage> messages,
                                                  NextTurn next) const {
  PartWriter out;
  if (!default_system_.empty() && messages.front().role != "system") {
    out.fixed(fmt::format("<|im_start|>system\n{}<|im_end|>\n", default_system_));
  }
  for (const ChatMessage& message : messages) {
    out.fixed(fmt::format("<|im_start|>{}\n", message.role));
    out.content(message.content);
    out.fixed("<|im_end|>\n");
  }
  if (next == NextTurn::assistant) out.fixed("<|im_start|>assistant\n");
  return out.take();
}

std::vector<TextPart> ChatTemplate::render_llama3(std::span<const ChatMessage> messages,
                                                  NextTurn next) const {
  PartWriter out;
  const auto message = [&](std::string_view role, std::string_view before,
                           std::string_view content) {
    out.fixed(fmt::format("<|start_header_id|>{}<|end_header_id|>\n\n{}", role, before));
    out.content(trimmed(content));
    out.fixed("<|eot_id|>");
  };
  out.fixed(bos_);
  if (!preamble_.empty()) {
    const bool given = messages.front().role == "system";
    message("system", preamble_, given ? std::string_view(messages.front().content) : "");
    messages = messages.subspan(given ? 1 : 0);
  }
  for (const ChatMessage& each : messages) message(each.role, "", each.content);
  if (next == NextTurn::assistant) {
    out.fixed("<|start_header_id|>assistant<|end_header_id|>\n\n");
  }
  return out.take();
}

std::vector<TextPart> ChatTemplate::render_llama2(std::span<const ChatMessage> turns,
                                                  const ChatMessage* system) const {
  PartWriter out;
  for (const ChatMessage& turn : turns) {
    if (turn.role == "assistant") {
      out.fixed(" ");
      out.content(trimmed(turn.content));
      out.fixed(" " + eos_);
      continue;
    }
    out.fixed(bos_ + "[INST] ");
    if (&turn == &turns.front() && system != nullptr) {
      out.fixed("<<SYS>>\n");
      out.content(system->content);
      // The template strips all of it, of which this is the end.
      const std::string_view rest = trimmed_end(turn.content);
      out.fixed(rest.empty() ? "\n<</SYS>>" : "\n<</SYS>>\n\n");
      out.content(rest);
    } else {
      out.content(trimmed(turn.content));
    }
    out.fixed(" [/INST]");
  }
  return out.take();
}

std::vector<TextPart> ChatTemplate::render_mistral(std::span<const ChatMessage> turns,
                                                   const ChatMessage* system) const {
  const auto system_turn = [&]() -> std::size_t {
    switch (instruct_.system) {
      case SystemPlace::nowhere:
      case SystemPlace::first_user:
        return 0;
      case SystemPlace::last_user:
        return (turns.size() - 1) / 2 * 2;
      case SystemPlace::last_turn:
        return turns.size() - 1;
    }
    std::unreachable();
  }();
  PartWriter out;
  out.fixed(bos_);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const std::string& content = turns[i].content;
    if (turns[i].role == "assistant") {
      out.fixed(instruct_.answer);
      out.content(instruct_.trim_answer ? trimmed(content) : content);
      out.fixed(eos_);
      continue;
    }
    out.fixed(instruct_.open);
    if (system != nullptr && i == system_turn) out.content(system->content + "\n\n");
    out.content(content);
    out.fixed(instruct_.close);
  }
  return out.take();
}

}  // namespace assay::runtime
