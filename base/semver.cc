#include "base/semver.h"

#include <algorithm>
#include <charconv>

namespace assay {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_identifier_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

bool is_number(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_digit);
}
bool has_leading_zero(std::string_view number) {
  return number.size() > 1 && number.front() == '0';
}

// Leading zeros are gone: longer is larger, else the first other digit decides.
std::strong_ordering compare_numbers(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

// The digits that a text begins with; they are taken off it.
std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

std::strong_ordering compare_identifiers(std::string_view a, std::string_view b) {
  const bool a_numeric = is_number(a);
  const bool b_numeric = is_number(b);
  if (a_numeric != b_numeric) {
    return a_numeric ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  // Numbers inside an identifier count as numbers, everything else by its characters.
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view a_number = take_digits(a);
      const std::string_view b_number = take_digits(b);
      if (const auto c = compare_numbers(a_number, b_number); c != 0) return c;
    } else {
      if (const auto c = a.front() <=> b.front(); c != 0) return c;
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() <=> b.size();
}

}  // namespace

std::string SemanticVersion::text() const {
  std::string text =
      std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  for (std::size_t i = 0; i < prerelease.size(); ++i) text += (i == 0 ? "-" : ".") + prerelease[i];
  if (!build.empty()) text += "+" + build;
  return text;
}

std::strong_ordering SemanticVersion::operator<=>(const SemanticVersion& other) const {
  if (const auto c = major <=> other.major; c != 0) return c;
  if (const auto c = minor <=> other.minor; c != 0) return c;
  if (const auto c = patch <=> other.patch; c != 0) return c;
  if (prerelease.empty() != other.prerelease.empty()) {
    return prerelease.empty() ? std::strong_ordering::greater : std::strong_ordering::less;
  }
  const std::size_t common = std::min(prerelease.size(), other.prerelease.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (const auto c = compare_identifiers(prerelease[i], other.prerelease[i]); c != 0) return c;
  }
  return prerelease.size() <=> other.prerelease.size();
}

Result<SemanticVersion> parse_semantic_version(std::string_view text) {
  const auto bad = [&](const char* why) {
    return fail(ErrorKind::protocol,
                "\"" + std::string(text.substr(0, 128)) + "\" is not a semantic version: " + why);
  };
  if (text.size() > 128) return bad("longer than 128 bytes");
  SemanticVersion version;
  const char* at = text.data();
  const char* end = at + text.size();
  std::uint64_t* const parts[] = {&version.major, &version.minor, &version.patch};
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return bad("expected MAJOR.MINOR.PATCH");
    const char* from = at;
    const auto [next, error] = std::from_chars(at, end, *parts[i]);
    if (error != std::errc{}) return bad("expected MAJOR.MINOR.PATCH");
    at = next;
    if (has_leading_zero({from, at})) return bad("a number with a leading zero");
  }
  const auto identifiers = [&](std::vector<std::string>& out) {
    do {
      ++at;  // the '-', '+' or '.'
      const char* from = at;
      while (at != end && is_identifier_char(*at)) ++at;
      if (at == from) return false;
      out.emplace_back(from, at);
    } while (at != end && *at == '.');
    return true;
  };
  if (at != end && *at == '-' && !identifiers(version.prerelease)) {
    return bad("an empty pre-release identifier");
  }
  for (const std::string& part : version.prerelease) {
    if (is_number(part) && has_leading_zero(part)) return bad("a number with a leading zero");
  }
  if (at != end && *at == '+') {
    std::vector<std::string> build;
    if (!identifiers(build)) return bad("an empty build identifier");
    for (const auto& part : build) version.build += (version.build.empty() ? "" : ".") + part;
  }
  if (at != end) return bad("unexpected text at its end");
  return version;
}

}  // namespace assay
