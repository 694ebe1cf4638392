#include "runtime/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/tokenizer/char_kind.h"
#include "runtime/tokenizer/utf8_char.h"

namespace assay::runtime {
namespace {

constexpr std::array pre_tokenizers = std::to_array<std::pair<std::string_view, PreTokenizer>>({
    {"", PreTokenizer::gpt2},
    {"default", PreTokenizer::gpt2},
    {"gpt-2", PreTokenizer::gpt2},
    {"llama-bpe", PreTokenizer::llama3},
    {"llama3", PreTokenizer::llama3},
    {"llama-v3", PreTokenizer::llama3},
    {"qwen2", PreTokenizer::qwen2},
});

// A character of the text, or its end.
struct Seen {
  CharKind kind = CharKind::end;
  std::size_t size = 0;
  char32_t code = 0;
};

Seen look_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const Utf8Char found = first_char(text.substr(at));
  return {kind_of(found.code), found.size, found.code};
}

bool is_line_end(const Seen& seen) {
  return seen.code == U'\r' || seen.code == U'\n';
}

// Where the run of characters of one kind that begins at `at` ends, after `most` at the latest.
std::size_t run_end(std::string_view text, std::size_t at, CharKind kind,
                    std::size_t most = std::string_view::npos) {
  for (; most > 0; --most) {
    const Seen seen = look_at(text, at);
    if (seen.kind != kind) break;
    at += seen.size;
  }
  return at;
}

// 's 't 're 've 'm 'll 'd; without regard to case also 'S and, as Unicode folds case, 'ſ. 0: none.
std::size_t contraction(std::string_view text, bool any_case) {
  if (text[0] != '\'') return 0;
  const auto letter = [&](const Seen& seen) -> char32_t {
    if (!any_case) return seen.code;
    if (seen.code == U'\u017F') return U's';
    return seen.code >= U'A' && seen.code <= U'Z' ? seen.code - U'A' + U'a' : seen.code;
  };
  const Seen first = look_at(text, 1);
  if (first.kind != CharKind::letter) return 0;
  const char32_t one = letter(first);
  if (one == U's' || one == U't' || one == U'm' || one == U'd') return 1 + first.size;
  const Seen second = look_at(text, 1 + first.size);
  const char32_t two = letter(second);
  const bool both = ((one == U'r' || one == U'v') && two == U'e') || (one == U'l' && two == U'l');
  return both ? 1 + first.size + second.size : 0;
}

// \s+(?!\S)|\s+ for text that begins with white space: a run leaves its last character to what
// follows it, unless that is its only one.
std::size_t spaces(std::string_view text) {
  std::size_t end = 0;
  std::size_t last = 0;
  for (Seen seen = look_at(text, 0); seen.kind == CharKind::space; seen = look_at(text, end)) {
    last = end;
    end += seen.size;
  }
  return end == text.size() || last == 0 ? end : last;
}

// \s*[\r\n]+ : up to the last line end of a run of white space; 0 when it has none.
std::size_t up_to_line_end(std::string_view text) {
  std::size_t end = 0;
  std::size_t at = 0;
  for (Seen seen = look_at(text, 0); seen.kind == CharKind::space; seen = look_at(text, at)) {
    at += seen.size;
    if (is_line_end(seen)) end = at;
  }
  return end;
}

std::size_t part_of_gpt2(std::string_view text) {
  if (const std::size_t size = contraction(text, false); size > 0) return size;
  const std::size_t start = text[0] == ' ' ? 1 : 0;
  const Seen first = look_at(text, start);
  if (first.kind != CharKind::space && first.kind != CharKind::end) {
    return run_end(text, start, first.kind);
  }
  return spaces(text);
}

std::size_t part_of_llama3(std::string_view text, std::size_t digits) {
  if (const std::size_t size = contraction(text, true); size > 0) return size;
  const Seen first = look_at(text, 0);
  if (first.kind == CharKind::letter) return run_end(text, 0, CharKind::letter);
  if (first.kind == CharKind::number) return run_end(text, 0, CharKind::number, digits);
  // Any one character but a line end may stand in front of letters.
  if (!is_line_end(first) && look_at(text, first.size).kind == CharKind::letter) {
    return run_end(text, first.size, CharKind::letter);
  }
  const std::size_t start = text[0] == ' ' ? 1 : 0;
  if (look_at(text, start).kind == CharKind::other) {
    std::size_t end = run_end(text, start, CharKind::other);
    while (end < text.size() && (text[end] == '\r' || text[end] == '\n')) ++end;
    return end;
  }
  const std::size_t lines = up_to_line_end(text);
  return lines > 0 ? lines : spaces(text);
}

}  // namespace

std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name) {
  const auto* found =
      std::ranges::find(pre_tokenizers, name, [](const auto& entry) { return entry.first; });
  if (found == pre_tokenizers.end()) return std::nullopt;
  return found->second;
}

std::string_view pre_tokenizer_names() {
  return "default, gpt-2, llama-bpe, llama3, llama-v3, qwen2";
}

std::size_t first_part(PreTokenizer rules, std::string_view text) {
  switch (rules) {
    case PreTokenizer::gpt2:
      return part_of_gpt2(text);
    case PreTokenizer::llama3:
      return part_of_llama3(text, 3);
    case PreTokenizer::qwen2:
      return part_of_llama3(text, 1);
  }
  std::unreachable();
}

}  // namespace assay::runtime
