#include "reports/record/limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <optional>

#include "base/semver.h"

namespace assay::reports {
namespace {

std::partial_ordering compare_numbers(const Value& a, const Value& b) {
  const auto* ia = std::get_if<std::int64_t>(&a);
  const auto* ib = std::get_if<std::int64_t>(&b);
  if (ia && ib) return *ia <=> *ib;
  const auto number = [](const Value& v) {
    if (const auto* i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
    if (const auto* d = std::get_if<double>(&v)) return *d;
    return std::nan("");
  };
  return number(a) <=> number(b);
}

std::partial_ordering compare(const Value& a, const Value& b, bool semantic_version) {
  if (semantic_version) {
    const auto* ta = std::get_if<std::string>(&a);
    const auto* tb = std::get_if<std::string>(&b);
    if (!ta || !tb) return std::partial_ordering::unordered;
    const auto va = parse_semantic_version(*ta);
    const auto vb = parse_semantic_version(*tb);
    if (!va || !vb) return std::partial_ordering::unordered;
    return *va <=> *vb;
  }
  if (std::holds_alternative<std::string>(a) || std::holds_alternative<bool>(a)) {
    // Neither has an order that a limit could mean.
    if (a.index() == b.index() && a == b) return std::partial_ordering::equivalent;
    return std::partial_ordering::unordered;
  }
  return compare_numbers(a, b);
}

}  // namespace

bool satisfies(const Value& value, const Validator& validator) {
  const std::partial_ordering order = compare(value, validator.value, validator.semantic_version);
  switch (validator.comparison) {
    case Comparison::equal:
      return order == 0;
    case Comparison::not_equal:
      if (order == std::partial_ordering::unordered) {
        // Unequal text and unequal booleans are unordered too; numbers that are NaN are no value.
        return value.index() == validator.value.index() && !std::holds_alternative<double>(value) &&
               !validator.semantic_version;
      }
      return order != 0;
    case Comparison::less:
      return order < 0;
    case Comparison::less_or_equal:
      return order <= 0;
    case Comparison::greater:
      return order > 0;
    case Comparison::greater_or_equal:
      return order >= 0;
  }
  return false;
}

bool satisfies(const Value& value, std::span<const Validator> validators) {
  return std::all_of(validators.begin(), validators.end(),
                     [&](const Validator& v) { return satisfies(value, v); });
}

bool can_be_satisfied(std::span<const Validator> validators) {
  const auto is = [](const Validator& v, std::initializer_list<Comparison> kinds) {
    return std::find(kinds.begin(), kinds.end(), v.comparison) != kinds.end();
  };
  using enum Comparison;
  for (const Validator& low : validators) {
    if (low.comparison == equal) {
      // The only value that can be.
      if (!satisfies(low.value, validators)) return false;
      continue;
    }
    if (!is(low, {greater, greater_or_equal})) continue;
    for (const Validator& high : validators) {
      if (!is(high, {less, less_or_equal})) continue;
      const auto order = compare(low.value, high.value, low.semantic_version);
      // Bounds that meet leave that one value, if it is allowed.
      if (order < 0 || (order == 0 && satisfies(low.value, validators))) continue;
      return false;
    }
  }
  return true;
}

Validator make_validator(Comparison comparison, Value value, const std::string& unit,
                         bool semantic_version) {
  static constexpr const char* words[] = {"equal to", "not equal to", "below",
                                          "at most",  "above",        "at least"};
  Validator validator{.name = "",
                      .comparison = comparison,
                      .value = std::move(value),
                      .semantic_version = semantic_version};
  validator.name =
      fmt::format("{} {}", words[static_cast<int>(comparison)], to_text(validator.value));
  if (!unit.empty() && unit != "1") validator.name += " " + unit;
  return validator;
}

std::string to_text(const Value& value) {
  struct Text {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{:.6g}", v); }
    std::string operator()(const std::string& v) const { return v; }
  };
  return std::visit(Text{}, value);
}

}  // namespace assay::reports
