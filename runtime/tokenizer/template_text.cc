#include "runtime/tokenizer/template_text.h"

#include "runtime/tokenizer/char_kind.h"
#include "runtime/tokenizer/utf8_char.h"

namespace assay::runtime {
namespace {

// Python counts four separators to white space that Unicode does not.
bool is_stripped(char32_t code) {
  return kind_of(code) == CharKind::space || (code >= 0x1C && code <= 0x1F);
}

// From the start of `text` to `end`; nothing when a string or an expression ends before.
std::optional<std::string> string_until(std::string_view text, std::string_view end, char quote) {
  std::string found;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with(end)) return found;
    if (text[at] == quote || text[at] == '{' || text[at] == '}') return std::nullopt;
    if (text[at] == '\\' && at + 1 < text.size()) {
      ++at;
      found += text[at] == 'n' ? '\n' : text[at];
    } else {
      found += text[at];
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> text_between(std::string_view jinja, std::string_view begin,
                                        std::string_view end) {
  for (std::size_t at = jinja.find(begin); at != std::string_view::npos;
       at = jinja.find(begin, at + 1)) {
    // In a string that begins just there, or in plain text of the template.
    const char before = at > 0 ? jinja[at - 1] : '\0';
    const char quote = before == '\'' || before == '"' ? before : '\0';
    auto found = string_until(jinja.substr(at + begin.size()), end, quote);
    if (found && !found->empty()) return found;
  }
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char first = first_char(text);
    if (!is_stripped(first.code)) break;
    text.remove_prefix(first.size);
  }
  return trimmed_end(text);
}

std::string_view trimmed_end(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char next = first_char(text.substr(at));
    at += next.size;
    if (!is_stripped(next.code)) end = at;
  }
  return text.substr(0, end);
}

}  // namespace assay::runtime
