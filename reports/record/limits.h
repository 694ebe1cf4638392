// A measured value and the limits it is held against (OCP validators).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace assay::reports {

using Value = std::variant<bool, std::int64_t, double, std::string>;

enum class Comparison { equal, not_equal, less, less_or_equal, greater, greater_or_equal };

struct Validator {
  std::string name;  // "at least 8.0 GT/s": for people
  Comparison comparison = Comparison::equal;
  Value value;
  bool semantic_version = false;  // both sides are versions and are ordered as such
};

// Numbers compare as numbers whatever their type, text only for equality unless semantic_version.
// Values that cannot be compared, and NaN, satisfy nothing.
bool satisfies(const Value& value, const Validator& validator);
bool satisfies(const Value& value, std::span<const Validator> validators);

// False when no number (or version) can satisfy all of them: at least 5 and at most 4.
bool can_be_satisfied(std::span<const Validator> validators);

// The limits that a plan sets for one measurement.
struct Limit {
  std::string measurement;
  std::vector<Validator> validators;
};

// Makes a validator and its name, e.g. at_least(8.0, "GT/s").
Validator make_validator(Comparison comparison, Value value, const std::string& unit,
                         bool semantic_version = false);

// "8.0", "true", "2.3.1": for people. Doubles with up to six significant digits.
std::string to_text(const Value& value);

}  // namespace assay::reports
