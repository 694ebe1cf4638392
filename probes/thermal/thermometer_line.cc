#include "probes/thermal/thermometer_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace assay::probes {
namespace {

constexpr std::size_t most_line_bytes = 256;
constexpr std::string_view blanks = " \t\r\0";

std::string_view stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::unexpected<Error> no_temperature(std::string_view line) {
  return fail(ErrorKind::bad_file, "\"" + to_printable(line.substr(0, 40)) + "\" is no temperature",
              "", "expected a number with a unit such as 45.2 C");
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes a decimal number with a point or a comma from the front of `text`.
std::optional<double> take_number(std::string_view& text) {
  std::string digits;
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
    if (text[at] == '-') digits = "-";
    ++at;
  }
  bool point = false;
  bool any = false;
  for (; at < text.size(); ++at) {
    if (is_digit(text[at])) {
      digits += text[at];
      any = true;
    } else if ((text[at] == '.' || text[at] == ',') && !point && any) {
      digits += '.';
      point = true;
    } else {
      break;
    }
  }
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (!any || error != std::errc{} || stop != end) return std::nullopt;
  text.remove_prefix(at);
  return value;
}

enum class TemperatureUnit { celsius, fahrenheit, kelvin };

std::optional<TemperatureUnit> unit_of(std::string_view text) {
  // A degree sign in UTF-8 or Latin-1, "deg".
  for (const std::string_view sign : {"\xC2\xB0", "\xB0", "deg", "Deg", "DEG"}) {
    if (text.starts_with(sign)) {
      text.remove_prefix(sign.size());
      break;
    }
  }
  text = stripped(text);
  if (text.empty() || text == "C" || text == "c" || text == "Celsius" || text == "Cel") {
    return TemperatureUnit::celsius;
  }
  if (text == "F" || text == "f" || text == "Fahrenheit") return TemperatureUnit::fahrenheit;
  if (text == "K" || text == "Kelvin") return TemperatureUnit::kelvin;
  return std::nullopt;
}

double to_celsius(double value, TemperatureUnit unit) {
  switch (unit) {
    case TemperatureUnit::fahrenheit:
      return (value - 32) * 5 / 9;
    case TemperatureUnit::kelvin:
      return value - 273.15;
    case TemperatureUnit::celsius:
      break;
  }
  return value;
}

bool possible(double c) {
  return c >= -273.15 && c <= 1000;
}

// Where the number begins: behind the last colon or equals sign, else at the first word that begins
// as a number does. The digit of a channel's name, "T1:" or "CH1", is none.
std::string_view from_number(std::string_view line) {
  const std::size_t name_end = line.find_last_of(":=");
  if (name_end != line.npos) return stripped(line.substr(name_end + 1));
  for (std::size_t at = line.find_first_not_of(blanks); at != line.npos;) {
    if (is_digit(line[at]) || line[at] == '+' || line[at] == '-') return stripped(line.substr(at));
    const std::size_t word_end = line.find_first_of(blanks, at);
    at = word_end == line.npos ? word_end : line.find_first_not_of(blanks, word_end);
  }
  return {};
}

struct ColumnNames {
  std::size_t sensor = 0;
  std::size_t reference = 1;
  std::optional<std::size_t> time = 2;
};

std::vector<std::string_view> cells(std::string_view line) {
  // With semicolons or tabs a comma is a decimal one.
  const char separator = line.find(';') != line.npos    ? ';'
                         : line.find('\t') != line.npos ? '\t'
                                                        : ',';
  std::vector<std::string_view> found;
  for (;;) {
    const std::size_t end = std::min(line.find(separator), line.size());
    found.push_back(stripped(line.substr(0, end)));
    if (end == line.size()) return found;
    line.remove_prefix(end + 1);
  }
}

std::optional<ColumnNames> names_of(const std::vector<std::string_view>& header) {
  ColumnNames names{.time = std::nullopt};
  bool sensor = false;
  bool reference = false;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i].starts_with("sensor") && !std::exchange(sensor, true)) names.sensor = i;
    if (header[i].starts_with("reference") && !std::exchange(reference, true)) names.reference = i;
    if (header[i].starts_with("time") && !names.time) names.time = i;
  }
  if (!sensor || !reference) return std::nullopt;
  return names;
}

std::optional<double> number_of(std::string_view cell) {
  const auto value = take_number(cell);
  return value && cell.empty() ? value : std::nullopt;
}

}  // namespace

Result<double> parse_thermometer_line(std::string_view line) {
  const std::string_view whole = line;
  if (line.size() > most_line_bytes) return no_temperature(whole);
  line = from_number(stripped(line));
  const auto value = take_number(line);
  if (!value) return no_temperature(whole);
  const auto unit = unit_of(stripped(line));
  if (!unit || !possible(to_celsius(*value, *unit))) return no_temperature(whole);
  return to_celsius(*value, *unit);
}

Result<TypedReading> parse_typed_reading(std::string_view line) {
  const std::string_view whole = line;
  if (line.size() > most_line_bytes) return no_temperature(whole);
  line = stripped(line);
  const std::size_t blank = line.find_first_of(" \t");
  if (blank != line.npos) {
    const auto sensor = number_of(line.substr(0, blank));
    const auto reference = number_of(stripped(line.substr(blank)));
    if (sensor && reference && possible(*sensor) && possible(*reference)) {
      return TypedReading{sensor, *reference};
    }
  }
  const auto reference = parse_thermometer_line(line);
  if (!reference) return std::unexpected(reference.error());
  return TypedReading{std::nullopt, *reference};
}

Result<std::vector<ReadingPair>> parse_pairs(std::string_view text, const std::string& name) {
  std::vector<ReadingPair> pairs;
  ColumnNames names;
  std::size_t number = 0;
  bool first = true;
  const auto refuse = [&](const std::string& what, const std::string& hint = "") {
    return fail(ErrorKind::bad_file, what, fmt::format("{}:{}", name, number), hint);
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = stripped(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if (line.empty() || line[0] == '#') continue;
    const auto columns = cells(line);
    if (std::exchange(first, false) && !number_of(columns[0])) {
      const auto named = names_of(columns);
      if (!named) return refuse("the columns \"sensor\" and \"reference\" are not named");
      names = *named;
      continue;
    }
    if (columns.size() <= std::max(names.sensor, names.reference)) {
      return refuse("expected a sensor's and a reference's reading");
    }
    const auto sensor = number_of(columns[names.sensor]);
    const auto reference = number_of(columns[names.reference]);
    if (!sensor || !reference || !possible(*sensor) || !possible(*reference)) {
      return refuse("expected temperatures in degrees Celsius, found \"" +
                        to_printable(line.substr(0, 60)) + "\"",
                    "45.2,46.1");
    }
    ReadingPair pair{*sensor, *reference, std::nullopt};
    if (names.time && *names.time < columns.size()) {
      const auto time = number_of(columns[*names.time]);
      if (!time || std::abs(*time) > 1e9) return refuse("expected a time in seconds");
      pair.time_s = *time;
    }
    if (!pairs.empty() && pairs.back().time_s.has_value() != pair.time_s.has_value()) {
      return refuse("a time on some lines and none on others");
    }
    if (pair.time_s && !pairs.empty() && *pair.time_s <= *pairs.back().time_s) {
      return refuse("the time does not grow");
    }
    pairs.push_back(pair);
    if (pairs.size() > most_pairs) return refuse(fmt::format("more than {} pairs", most_pairs));
  }
  if (pairs.empty()) return fail(ErrorKind::bad_file, "no pair of readings is in it", name);
  return pairs;
}

}  // namespace assay::probes
