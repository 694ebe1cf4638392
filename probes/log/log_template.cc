#include "probes/log/log_template.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/units.h"

namespace assay::probes {
namespace {

std::string counted(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "-12" in words: "Cannot allocate memory (-12)".
std::string errno_text(const std::string& value) {
  std::string_view figures = value;
  if (figures.starts_with('-')) figures.remove_prefix(1);
  const auto number = number_in(figures);
  if (!number || *number > 4095) return "error " + value;
  return fmt::format("{} ({})", std::generic_category().message(static_cast<int>(*number)), value);
}

std::string in_words(const std::string& value, std::string_view form, std::uint64_t page_bytes) {
  if (form.empty()) return value;
  if (form == "errno") return errno_text(value);
  const auto number = number_in(value);
  if (!number) return value;
  if (form == "bytes") return fmt::format("{} ({} bytes)", format_gib(*number), *number);
  if (form == "kib") return format_gib(multiplied(*number, 1024));
  if (form == "pages") {
    return fmt::format("{} of {} = {}", counted(*number, "page"), page_text(page_bytes),
                       format_gib(multiplied(*number, page_bytes)));
  }
  // An order.
  if (*number > 50) return "order " + value;
  return fmt::format("order {} = {} of {} = {}", *number,
                     counted(std::uint64_t{1} << *number, "page"), page_text(page_bytes),
                     format_gib(bytes_of_order(*number, page_bytes)));
}

}  // namespace

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::uint64_t multiplied(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

std::uint64_t bytes_of_order(std::uint64_t order, std::uint64_t page_bytes) {
  return order >= 64 ? UINT64_MAX : multiplied(std::uint64_t{1} << order, page_bytes);
}

std::string page_text(std::uint64_t page_bytes) {
  return format_gib(page_bytes);
}

std::string fill_in(std::string_view text, const LogFields& fields, std::uint64_t page_bytes) {
  std::string filled;
  // Where the part in brackets began, and whether all of its fields are there.
  std::size_t part = std::string::npos;
  bool complete = true;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '[') {
      part = filled.size();
      complete = true;
    } else if (c == ']') {
      if (!complete && part != std::string::npos) filled.resize(part);
      part = std::string::npos;
    } else if (c == '{') {
      const std::size_t end = std::min(text.find('}'), text.size());
      std::string_view name = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      std::string_view form;
      if (const std::size_t bar = name.find('|'); bar != name.npos) {
        form = name.substr(bar + 1);
        name = name.substr(0, bar);
      }
      const auto found = fields.find(name);
      if (found == fields.end()) {
        complete = false;
      } else {
        filled += in_words(found->second, form, page_bytes);
      }
    } else {
      filled += c;
    }
  }
  return filled;
}

}  // namespace assay::probes
