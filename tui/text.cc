#include "tui/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string_view>

#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "tui/glyph.h"

namespace assay::tui {

using reports::FindingKind;
using reports::StepRecord;
using reports::StepState;
using reports::Validator;
using reports::Value;

namespace {

std::string_view unit_text(std::string_view unit) {
  if (unit == "1") return "";
  if (unit == "Cel") return "°C";
  if (unit == "GBy/s") return "GB/s";
  if (unit == "{token}") return "tokens";
  if (unit == "{token}/s") return "tok/s";
  return unit;
}

// Four significant digits, no exponent, no zeros behind that say nothing.
std::string number_text(double number) {
  const double size = std::fabs(number);
  if (size != 0 && (size < 1e-4 || size >= 1e9)) return fmt::format("{:.4g}", number);
  const int before = size < 1 ? 1 : static_cast<int>(std::log10(size)) + 1;
  std::string text = fmt::format("{:.{}f}", number, std::max(0, 4 - before));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

void add_labelled(std::vector<std::string>& lines, std::string_view label, const std::string& text,
                  int width) {
  if (text.empty()) return;
  constexpr int indent = 12;
  bool first = true;
  for (const std::string& line : wrap(text, width - indent)) {
    lines.push_back(fmt::format("  {:<10}{}", first ? label : "", line));
    first = false;
  }
}

std::string in_parentheses(const std::string& text) {
  return text.empty() ? text : " (" + text + ")";
}

}  // namespace

std::string value_text(const Value& value, const std::string& unit) {
  if (unit == "By") {
    const auto* bytes = std::get_if<std::int64_t>(&value);
    if (bytes != nullptr && *bytes >= 0) return format_gib(static_cast<std::uint64_t>(*bytes));
  }
  const auto* number = std::get_if<double>(&value);
  std::string text = number != nullptr ? number_text(*number) : reports::to_text(value);
  const std::string_view name = unit_text(unit);
  if (!name.empty()) text.append(" ").append(name);
  return to_printable(text);
}

std::string limits_text(const std::vector<Validator>& validators, const std::string& unit) {
  static constexpr const char* words[] = {"must be", "must not be", "below",
                                          "at most", "above",       "at least"};
  std::string text;
  for (const Validator& v : validators) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", words[static_cast<int>(v.comparison)], value_text(v.value, unit));
  }
  return text;
}

std::string measurement_text(const reports::Measurement& m) {
  std::string text = to_printable(m.name) + " " + value_text(m.value, m.unit) +
                     in_parentheses(limits_text(m.validators, m.unit));
  if (!m.part.empty()) text += "  " + to_printable(m.part);
  return text;
}

std::string series_text(const reports::SeriesRecord& s) {
  return fmt::format("{} {}, {} of {} samples outside{}", to_printable(s.start.name),
                     value_text(s.last, s.start.unit), s.outside, s.count,
                     in_parentheses(limits_text(s.start.validators, s.start.unit)));
}

std::string step_text(const StepRecord& step, int id_width) {
  std::string text =
      fmt::format("{:<5} {}  ", to_word(step.state), pad_right(to_printable(step.id), id_width));
  const std::string time =
      step.end_ns > step.start_ns ? format_seconds(step.end_ns - step.start_ns) : std::string();
  text += pad_right(to_printable(step.headline), 28) + pad_left(time, 8);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::vector<std::string> step_remarks(const StepRecord& step) {
  std::vector<std::string> lines;
  const auto add = [&](const char* word, const std::string& text) {
    for (const std::string& line : wrap(text, line_width - 15)) {
      lines.push_back(fmt::format("      {:<8} {}", word, line));
      word = "";
    }
  };
  for (const auto& m : step.measurements) {
    if (!m.within) add("outside", measurement_text(m.measurement));
  }
  for (const auto& s : step.series) {
    if (!s.within()) add("outside", series_text(s));
  }
  for (const auto& e : step.errors) add("error", e.symptom + ": " + e.message);
  if (step.state == StepState::skip && !step.skip_reason.empty()) add("skipped", step.skip_reason);
  return lines;
}

std::vector<std::string> step_figures(const StepRecord& step) {
  std::vector<std::string> lines;
  for (const auto& m : step.measurements) {
    if (m.within) lines.push_back("      " + measurement_text(m.measurement));
  }
  for (const auto& [name, content] : step.details) {
    if (!content.is_string()) continue;
    const std::string text = to_printable(name) + ": " + to_printable(content.get<std::string>());
    for (const std::string& line : wrap(text, line_width - 8)) lines.push_back("      " + line);
  }
  return lines;
}

std::vector<std::string> finding_body(const reports::Finding& finding, int width) {
  std::vector<std::string> lines;
  for (const std::string& line : wrap(finding.message, width - 2)) lines.push_back("  " + line);
  add_labelled(lines, "Where", finding.where, width);
  add_labelled(lines, "Likely", joined(finding.likely), width);
  add_labelled(lines, "Do", joined(finding.remedy), width);
  add_labelled(lines, "Evidence", joined(finding.evidence), width);
  return lines;
}

std::vector<std::string> finding_text(const StepRecord& step, const reports::Finding& finding,
                                      int width) {
  const std::string left = fmt::format(
      "{}  {}", finding.kind == FindingKind::fault ? "FAIL" : "NOTE", to_printable(step.id));
  const std::string code = to_printable(finding.code);
  const int room = width - text_width(left);
  std::vector<std::string> lines;
  if (text_width(code) + 2 <= room) {
    lines.push_back(left + pad_left(code, room));
  } else {
    lines = {left, "  " + code};
  }
  for (std::string& line : finding_body(finding, width)) lines.push_back(std::move(line));
  return lines;
}

std::string board_name(const reports::RunSummary& run) {
  const std::string name = run.parameter("board", "name");
  return name.empty() ? run.parameter("board", "id") : name;
}

std::string serial_number(const reports::RunSummary& run) {
  const auto id = run.start.dut_info.find("dutInfoId");
  return id != run.start.dut_info.end() && id->is_string() ? id->get<std::string>() : "";
}

std::vector<std::string> run_header(const reports::RunSummary& run) {
  std::string who = "ASSAY";
  const auto add = [&](const char* label, const std::string& text) {
    if (!text.empty()) who += fmt::format("  {}{}", label, to_printable(text));
  };
  add("", board_name(run));
  add("SN ", serial_number(run));
  add("op ", run.parameter("operator"));
  add("station ", run.parameter("station"));
  add("plan ", run.parameter("plan", "id"));
  std::vector<std::string> lines = {who};
  const std::string reduced = run.parameter("plan", "reduced_from");
  if (!reduced.empty()) lines.push_back("a reduced form of plan " + to_printable(reduced));
  return lines;
}

std::string clock_text(std::int64_t wall_ns) {
  const std::time_t seconds = wall_ns / ns_per_s;
  std::tm local{};
  localtime_r(&seconds, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

}  // namespace assay::tui
