#include <fmt/core.h>

#include <array>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tui/panels.h"
#include "tui/text.h"

namespace assay::tui {

using reports::FindingKind;
using reports::StepRecord;
using reports::StepState;
using reports::Verdict;

namespace {

constexpr int letter_rows = 5;
constexpr int letter_cols = 5;

struct Letter {
  char name;
  std::array<const char*, letter_rows> rows;
};

// The letters that the verdicts are made of.
constexpr std::array<Letter, 15> letters = {{
    {'A', {" ### ", "#   #", "#####", "#   #", "#   #"}},
    {'B', {"#### ", "#   #", "#### ", "#   #", "#### "}},
    {'C', {" ####", "#    ", "#    ", "#    ", " ####"}},
    {'D', {"#### ", "#   #", "#   #", "#   #", "#### "}},
    {'E', {"#####", "#    ", "#### ", "#    ", "#####"}},
    {'F', {"#####", "#    ", "#### ", "#    ", "#    "}},
    {'I', {"#####", "  #  ", "  #  ", "  #  ", "#####"}},
    {'L', {"#    ", "#    ", "#    ", "#    ", "#####"}},
    {'M', {"#   #", "## ##", "# # #", "#   #", "#   #"}},
    {'N', {"#   #", "##  #", "# # #", "#  ##", "#   #"}},
    {'O', {" ### ", "#   #", "#   #", "#   #", " ### "}},
    {'P', {"#### ", "#   #", "#### ", "#    ", "#    "}},
    {'R', {"#### ", "#   #", "#### ", "#  # ", "#   #"}},
    {'S', {" ####", "#    ", " ### ", "    #", "#### "}},
    {'T', {"#####", "  #  ", "  #  ", "  #  ", "  #  "}},
}};

// One row of a word in big letters, every cell `scale` wide.
std::string big_row(std::string_view word, int row, int scale, bool utf8) {
  std::string text;
  for (const char name : word) {
    if (!text.empty()) text.append(static_cast<std::size_t>(scale), ' ');
    for (const Letter& letter : letters) {
      if (letter.name != name) continue;
      for (int col = 0; col < letter_cols; ++col) {
        const bool ink = letter.rows[static_cast<std::size_t>(row)][col] == '#';
        for (int i = 0; i < scale; ++i) text += !ink ? " " : utf8 ? "█" : "#";
      }
    }
  }
  return text;
}

// The finding, then what else speaks against each step.
std::vector<std::string> reason_lines(const DashboardModel& model, const std::string& reason,
                                      int width) {
  std::vector<std::string> lines;
  if (const reports::FindingRecord* found = model.first_finding()) {
    const StepRecord& step = *model.step_of(found);
    // Where the reason is this finding already, its heading would only say it again.
    lines = reason == step.id + ": " + found->finding.code
                ? finding_body(found->finding, width)
                : finding_text(step, found->finding, width);
  }
  for (const StepRecord& step : model.run().steps) {
    const std::vector<std::string> remarks = step_remarks(step);
    if (!remarks.empty()) lines.push_back(to_printable(step.id));
    for (const std::string& line : remarks) {
      for (const std::string& part : wrap(line.substr(line.find_first_not_of(' ')), width - 2)) {
        lines.push_back("  " + part);
      }
    }
  }
  return lines;
}

std::size_t count_findings(const reports::RunSummary& run) {
  std::size_t count = 0;
  for (const StepRecord& step : run.steps) count += step.findings.size();
  return count;
}

}  // namespace

void draw_verdict(const Area& area, const DashboardModel& model) {
  if (area.empty()) return;
  const Verdict verdict = model.verdict();
  const Role role = role_of(verdict);
  const std::string_view word = reports::to_word(verdict);
  const int width = static_cast<int>(word.size()) * (letter_cols + 1) - 1;
  if (area.rows() >= letter_rows && width <= area.cols() - 2) {
    const int scale = (area.cols() - 2) / width >= 2 ? 2 : 1;
    const int top = (area.rows() - letter_rows) / 2;
    for (int row = 0; row < letter_rows; ++row) {
      area.put(top + row, (area.cols() - width * scale) / 2, big_row(word, row, scale, area.utf8()),
               role);
    }
    return;
  }
  std::string line(word);
  if (area.cols() > static_cast<int>(word.size()) + 4) {
    line = fmt::format(" {} {}", mark_of(verdict, area.utf8()), word);
  }
  if (const StepRecord* step = model.shown_step(); step != nullptr && model.running()) {
    line += "  " + to_printable(step->id);
    if (const auto part = DashboardModel::fraction(*step)) {
      line += fmt::format("  {:.0f} %", *part * 100);
    }
  }
  area.put(area.rows() / 2, 0, line, role);
}

void draw_reason(const Area& area, const DashboardModel& model) {
  if (area.empty()) return;
  const Verdict verdict = model.verdict();
  const std::string reason = reports::verdict_reason(model.run(), model.running());
  int row = 0;
  area.put_short(row++, 0, fmt::format("{}  {}", reports::to_word(verdict), reason),
                 role_of(verdict));
  std::vector<std::string> lines = reason_lines(model, reason, area.cols());
  if (const std::size_t findings = count_findings(model.run()); findings > 1) {
    lines.push_back(fmt::format("{} findings in all", findings));
  }
  if (row + 1 + static_cast<int>(lines.size()) <= area.rows()) ++row;  // air, where there is room
  for (std::size_t i = 0; i < lines.size() && row < area.rows(); ++i) {
    // Headings begin at the border, what belongs to them is indented.
    area.put_short(row++, 0, lines[i], lines[i].starts_with(' ') ? Role::normal : Role::title);
  }
}

}  // namespace assay::tui
