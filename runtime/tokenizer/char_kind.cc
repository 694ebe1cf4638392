#include "runtime/tokenizer/char_kind.h"

#include <utf8proc.h>

#include <array>

namespace assay::runtime {
namespace {

constexpr CharKind ascii_kind(char32_t code) {
  if ((code >= 'A' && code <= 'Z') || (code >= 'a' && code <= 'z')) return CharKind::letter;
  if (code >= '0' && code <= '9') return CharKind::number;
  if (code == ' ' || (code >= '\t' && code <= '\r')) return CharKind::space;
  return CharKind::other;
}

// Most text is ASCII: no call for it.
constexpr auto ascii_kinds = [] {
  std::array<CharKind, 128> kinds{};
  for (char32_t code = 0; code < kinds.size(); ++code) kinds[code] = ascii_kind(code);
  return kinds;
}();

// Unicode 15, PropList.txt; beyond ASCII.
bool is_white_space(char32_t code) {
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

}  // namespace

CharKind kind_of(char32_t code) {
  if (code < ascii_kinds.size()) return ascii_kinds[code];
  if (is_white_space(code)) return CharKind::space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharKind::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharKind::number;
    default:
      return CharKind::other;
  }
}

}  // namespace assay::runtime
