#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/units.h"
#include "base/utf8.h"
#include "tui/panels.h"
#include "tui/text.h"

namespace assay::tui {

using reports::FindingKind;
using reports::StepRecord;

namespace {

// Rows of "mark name value [picture] limit" with a common column for the values.
struct ValueRow {
  bool within = true;
  bool has_limit = false;
  std::string name;
  std::string value;
  std::string limit;
  const std::deque<double>* samples = nullptr;
};

ValueRow row_of(const reports::SeriesRecord& s) {
  return {s.within(),
          !s.start.validators.empty(),
          s.start.name,
          s.count > 0 ? value_text(s.last, s.start.unit) : "",
          limits_text(s.start.validators, s.start.unit),
          &s.recent};
}

ValueRow row_of(const reports::MeasurementRecord& m) {
  std::string limit = limits_text(m.measurement.validators, m.measurement.unit);
  if (!m.measurement.part.empty()) limit += "  " + m.measurement.part;
  return {m.within, !m.measurement.validators.empty(), m.measurement.name,
          value_text(m.measurement.value, m.measurement.unit), std::move(limit)};
}

// What is outside its limits comes first: it must not be what the panel has no room for.
std::vector<ValueRow> value_rows(const StepRecord& step, int room) {
  std::vector<ValueRow> rows;
  const auto add = [&](bool wanted, bool within, const auto& record) {
    if (within == wanted && static_cast<int>(rows.size()) < room) rows.push_back(row_of(record));
  };
  for (const bool wanted : {false, true}) {
    for (const auto& s : step.series) add(wanted, s.within(), s);
    for (const auto& m : step.measurements) add(wanted, m.within, m);
  }
  return rows;
}

void draw_value(const Area& area, int row, const ValueRow& value, int name_width, int value_width) {
  using reports::StepState;
  const Role role = !value.within ? Role::fail : value.has_limit ? Role::pass : Role::normal;
  const int mark_width = area.utf8() ? 2 : 5;
  if (value.has_limit) {
    area.put(row, 0, mark_of(value.within ? StepState::pass : StepState::fail, area.utf8()), role);
  }
  int col = mark_width;
  area.put(row, col, shorten(value.name, name_width, area.utf8()));
  col += name_width + 1;
  area.put(row, col, pad_left(value.value, value_width), role);
  col += value_width + 2;
  if (value.samples != nullptr) {
    const int limit_width = value.limit.empty() ? 0 : text_width(value.limit) + 2;
    const int width = std::min(40, area.cols() - col - limit_width);
    if (width >= 4) {
      area.put(row, col, sparkline(*value.samples, width, area.utf8()), Role::bar);
      col += width + 2;
    }
  }
  area.put_short(row, col, value.limit, Role::dim);
}

// Bar, percent and time; returns the next free row.
int draw_progress(const Area& area, int row, const DashboardModel& model, const StepRecord& step,
                  std::int64_t now) {
  const auto fraction = DashboardModel::fraction(step);
  if (fraction) {
    const int width = area.cols() - 6;
    if (width >= 4) area.put(row, 0, bar_text(*fraction, width, area.utf8()), Role::bar);
    area.put(row, std::max(0, width) + 1, fmt::format("{:3.0f} %", *fraction * 100));
    ++row;
  }
  std::string times = "running " + format_seconds(model.elapsed_ns(step, now));
  if (const auto rate = model.fraction_per_second(step)) {
    times += fmt::format("   {:.2g} %/s", *rate * 100);
  }
  if (const auto left = model.remaining_ns(step)) times += "   ~" + format_seconds(*left) + " left";
  area.put_short(row++, 0, times, Role::dim);
  return row;
}

}  // namespace

void draw_step(const Area& area, const DashboardModel& model, std::int64_t now) {
  const StepRecord* step = model.shown_step();
  if (step == nullptr) {
    area.put_short(0, 0, model.run().started ? "starting the first step" : "waiting for the run");
    return;
  }
  int row = 0;
  const bool untitled = area.rows() < 6;  // no frame that bears the step's name
  std::string what = to_printable(step->progress.text);
  if (what.empty()) what = to_printable(step->headline.empty() ? step->use : step->headline);
  if (untitled) what = to_printable(step->id) + "  " + what;
  area.put_short(row++, 0, what, Role::accent);
  row = draw_progress(area, row, model, *step, now);
  for (const auto& record : step->findings) {
    const bool fault = record.finding.kind == FindingKind::fault;
    area.put_short(row++, 0,
                   fmt::format("{}  {}: {}", fault ? "FAIL" : "NOTE", record.finding.code,
                               record.finding.message),
                   fault ? Role::fail : Role::warn);
  }
  for (const auto& error : step->errors) {
    area.put_short(row++, 0, fmt::format("ERROR  {}: {}", error.symptom, error.message),
                   Role::warn);
  }

  const std::vector<ValueRow> values = value_rows(*step, area.rows() - row);
  if (row + 1 + static_cast<int>(values.size()) <= area.rows()) ++row;  // air, where there is room
  int name_width = 0;
  int value_width = 0;
  for (const ValueRow& value : values) {
    name_width = std::max(name_width, text_width(value.name));
    value_width = std::max(value_width, text_width(value.value));
  }
  name_width = std::min(name_width, std::max(8, area.cols() / 3));
  value_width = std::min(value_width, std::max(8, area.cols() / 4));
  for (const ValueRow& value : values) {
    draw_value(area, row++, value, name_width, value_width);
  }
}

}  // namespace assay::tui
