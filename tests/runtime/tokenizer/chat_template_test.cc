// The expected texts are what Jinja makes of the published templates.
#include "runtime/tokenizer/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/tokenizer/vocabularies.h"

namespace assay::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Qwen2-Instruct.
constexpr std::string_view qwen2 =
    R"({% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})";

// Of Qwen2.5-Instruct, what is said without tools.
constexpr std::string_view qwen25 =
    R"({%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' }}
    {%- endif %}
    {{- "</tools><|im_end|>\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %})";

constexpr std::string_view plain_chatml =
    R"({% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %})";

// Meta-Llama-3-Instruct.
constexpr std::string_view llama3 =
    R"({% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %})";

// Of Llama-3.2-Instruct, what is said without tools.
constexpr std::string_view llama32 =
    R"({{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{{- "Cutting Knowledge Date: December 2023\n" }}
{{- "Today Date: " + date_string + "\n\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %})";

// Llama-2-chat.
constexpr std::string_view llama2 =
    R"({% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\n' + system_message + '\n<</SYS>>\n\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %})";

// Mixtral-8x7B-Instruct-v0.1, as it first came.
constexpr std::string_view mixtral =
    R"({{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %})";

// Its later one, and Mistral-7B-Instruct-v0.2's.
constexpr std::string_view mistral_v1 =
    R"({%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('After the optional system message, conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {%- if loop.first and system_message is defined %}
            {{- ' [INST] ' + system_message + '\n\n' + message['content'] + ' [/INST]' }}
        {%- else %}
            {{- ' [INST] ' + message['content'] + ' [/INST]' }}
        {%- endif %}
    {%- elif message['role'] == 'assistant' %}
        {{- ' ' + message['content'] + eos_token}}
    {%- endif %}
{%- endfor %})";

// Of Mistral-7B-Instruct-v0.3, what is said without tools.
constexpr std::string_view mistral_v3 =
    R"({%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- bos_token }}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is defined and tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- endif %}
{%- endfor %})";

const std::vector<ChatMessage> with_system = {
    {"system", "Be brief."}, {"user", " Hi\n"}, {"assistant", "  Hello "}, {"user", "Bye"}};
const std::vector<ChatMessage> without_system(with_system.begin() + 1, with_system.end());

ChatTemplate recognized(std::string_view jinja) {
  auto made = ChatTemplate::recognize(jinja, "<s>", "</s>");
  if (!made) ADD_FAILURE() << made.error().text();
  return std::move(made).value();
}

std::string text_of(const Result<std::vector<TextPart>>& parts) {
  if (!parts) return "refused: " + parts.error().text();
  std::string text;
  for (const TextPart& part : *parts) text += part.text;
  return text;
}

std::string rendered(std::string_view jinja, const std::vector<ChatMessage>& messages,
                     NextTurn next = NextTurn::assistant) {
  return text_of(recognized(jinja).render(messages, next));
}

TEST(ChatTemplate, chatmlWritesRolesAndTextsAsTheyAre) {
  const std::string turns =
      "<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n  Hello <|im_end|>\n"
      "<|im_start|>user\nBye<|im_end|>\n";
  const std::string system = "<|im_start|>system\nBe brief.<|im_end|>\n";
  const std::string answer = "<|im_start|>assistant\n";
  for (const std::string_view jinja : {qwen2, qwen25, plain_chatml}) {
    EXPECT_EQ(rendered(jinja, with_system), system + turns + answer);
    EXPECT_EQ(rendered(jinja, with_system, NextTurn::none), system + turns);
    EXPECT_EQ(recognized(jinja).family(), ChatFamily::chatml);
    EXPECT_EQ(recognized(jinja).end_of_turn(), "<|im_end|>");
  }
  EXPECT_EQ(rendered(qwen2, without_system),
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n" + turns + answer);
  EXPECT_EQ(rendered(qwen25, without_system),
            "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
            "assistant.<|im_end|>\n" +
                turns + answer);
  EXPECT_EQ(rendered(plain_chatml, without_system), turns + answer);
}

TEST(ChatTemplate, llama3TrimsTexts) {
  const std::string turns =
      "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
      "<|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|>"
      "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>";
  const std::string answer = "<|start_header_id|>assistant<|end_header_id|>\n\n";
  EXPECT_EQ(rendered(llama3, without_system), "<s>" + turns + answer);
  EXPECT_EQ(rendered(llama3, with_system, NextTurn::none),
            "<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>" + turns);
  const std::string dated =
      "<s><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
      "Today Date: 26 Jul 2024\n\n";
  EXPECT_EQ(rendered(llama32, without_system), dated + "<|eot_id|>" + turns + answer);
  EXPECT_EQ(rendered(llama32, with_system), dated + "Be brief.<|eot_id|>" + turns + answer);
  EXPECT_EQ(recognized(llama32).end_of_turn(), "<|eot_id|>");
}

TEST(ChatTemplate, llama3TrimsWhatPythonCallsWhiteSpace) {
  EXPECT_EQ(rendered(llama3, {{"user", "\u3000\x1C\t\u00A0 a \u180E\u2028\x1F"}}, NextTurn::none),
            "<s><|start_header_id|>user<|end_header_id|>\n\na \u180E<|eot_id|>");
  EXPECT_EQ(rendered(llama3, {{"user", " \n"}}, NextTurn::none),
            "<s><|start_header_id|>user<|end_header_id|>\n\n<|eot_id|>");
}

TEST(ChatTemplate, llama2WritesTheSystemMessageIntoTheFirstTurn) {
  EXPECT_EQ(rendered(llama2, without_system),
            "<s>[INST] Hi [/INST] Hello </s><s>[INST] Bye [/INST]");
  EXPECT_EQ(
      rendered(llama2, with_system),
      "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n Hi [/INST] Hello </s><s>[INST] Bye [/INST]");
  EXPECT_EQ(rendered(llama2, {{"system", "S"}, {"user", " \n"}}),
            "<s>[INST] <<SYS>>\nS\n<</SYS>> [/INST]");
  EXPECT_EQ(recognized(llama2).family(), ChatFamily::llama2);
  EXPECT_EQ(recognized(llama2).end_of_turn(), "</s>");
}

TEST(ChatTemplate, mistralWritesTheSpacesOfItsTemplate) {
  EXPECT_EQ(rendered(mixtral, without_system),
            "<s>[INST]  Hi\n [/INST]  Hello </s>[INST] Bye [/INST]");
  EXPECT_EQ(rendered(mistral_v1, without_system),
            "<s> [INST]  Hi\n [/INST]   Hello </s> [INST] Bye [/INST]");
  EXPECT_EQ(rendered(mistral_v1, with_system),
            "<s> [INST] Be brief.\n\n Hi\n [/INST]   Hello </s> [INST] Bye [/INST]");
  EXPECT_EQ(rendered(mistral_v3, without_system),
            "<s>[INST]  Hi\n[/INST] Hello</s>[INST] Bye[/INST]");
  EXPECT_EQ(rendered(mistral_v3, with_system),
            "<s>[INST]  Hi\n[/INST] Hello</s>[INST] Be brief.\n\nBye[/INST]");
  // "loop.last": a turn that the assistant is to go on with has no system message.
  const std::vector<ChatMessage> to_go_on(with_system.begin(), with_system.end() - 1);
  EXPECT_EQ(rendered(mistral_v3, to_go_on), "<s>[INST]  Hi\n[/INST] Hello</s>");
  std::string by_users(mistral_v3);
  by_users.replace(by_users.find("loop.last"), 9, "message == user_messages[-1]");
  EXPECT_EQ(rendered(by_users, to_go_on), "<s>[INST] Be brief.\n\n Hi\n[/INST] Hello</s>");
  EXPECT_EQ(recognized(mixtral).family(), ChatFamily::mistral);
  EXPECT_THAT(rendered(mixtral, with_system), HasSubstr("takes no system message"));
}

TEST(ChatTemplate, textOfMessagesIsNotLookedThroughForTokens) {
  const auto parts = recognized(plain_chatml)
                         .render(std::vector<ChatMessage>{{"user", "<|im_end|>"}}, NextTurn::none);
  ASSERT_TRUE(parts);
  EXPECT_THAT(*parts, ElementsAre(TextPart{"<|im_start|>user\n", Specials::parse},
                                  TextPart{"<|im_end|>", Specials::text},
                                  TextPart{"<|im_end|>\n", Specials::parse}));
  auto vocabulary = test::gpt2_vocabulary("qwen2", {});
  const TokenId start = test::add_token(vocabulary, "<|im_start|>", 0, TokenType::control);
  const TokenId end = test::add_token(vocabulary, "<|im_end|>", 0, TokenType::control);
  vocabulary.scores.clear();
  const auto ids = test::made(std::move(vocabulary)).encode(*parts, Ends::none).value();
  EXPECT_EQ(std::ranges::count(ids, start), 1);
  EXPECT_EQ(std::ranges::count(ids, end), 1);
  EXPECT_EQ(ids[ids.size() - 2], end);
}

TEST(ChatTemplate, aMixtralConversationIsTokenizedAsOneText) {
  // [INST] is no token of its own there: the template's text and the person's meet in one.
  auto vocabulary = test::llama_vocabulary({"\u2581", "x", "]\u2581", "]\u2581x"});
  const Tokenizer tokenizer = test::made(std::move(vocabulary));
  const auto parts =
      recognized(mixtral).render(std::vector<ChatMessage>{{"user", "x"}}, NextTurn::assistant);
  ASSERT_TRUE(parts);
  EXPECT_EQ(tokenizer.encode(*parts, Ends::none).value(),
            tokenizer.encode("<s>[INST] x [/INST]", Specials::parse, Ends::none).value());
}

TEST(ChatTemplate, anUnknownTemplateIsToldWithTheKnownFamilies) {
  for (const char* jinja : {"", "{{ messages }}", "<start_of_turn>user",
                            "<|im_start|>user<|im_sep|><|im_end|>", "[SYSTEM_PROMPT] [INST] "}) {
    const auto made = ChatTemplate::recognize(jinja, "", "");
    ASSERT_FALSE(made) << jinja;
    EXPECT_EQ(made.error().kind, ErrorKind::bad_file);
    EXPECT_THAT(made.error().text(), HasSubstr("known are ChatML"));
  }
}

TEST(ChatTemplate, aConversationThatTheTemplateRefusesIsRefused) {
  EXPECT_EQ(rendered(qwen2, {}), "refused: a conversation has no messages");
  EXPECT_EQ(rendered(llama3, {{"<|x\n", "a"}}),
            "refused: the role <|x\\x0A is not one of system, user, assistant");
  for (const std::string_view jinja : {llama2, mistral_v1}) {
    EXPECT_THAT(rendered(jinja, {{"system", "a"}}), HasSubstr("no message of a user"));
    EXPECT_THAT(rendered(jinja, {{"assistant", "a"}}),
                HasSubstr("message 1 of them is of the assistant"));
    EXPECT_THAT(rendered(jinja, {{"user", "a"}, {"user", "b"}}),
                HasSubstr("message 2 of them is of the user"));
    EXPECT_THAT(rendered(jinja, {{"user", "a"}, {"system", "b"}}),
                HasSubstr("message 2 of them is of the system"));
  }
}

}  // namespace
}  // namespace assay::runtime
