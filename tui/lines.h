// A run as plain lines, for a pipe, a log file or a terminal that can do no more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tui/model.h"

namespace assay::tui {

class LinePrinter {
 public:
  // Without `utf8` the lines are ASCII.
  explicit LinePrinter(bool utf8) : utf8_(utf8) {}

  // What came since the last call, as whole lines. No verdict: that is the caller's last word.
  std::string update(const DashboardModel& model, std::int64_t now_wall_ns);

 private:
  struct Printed {
    bool begun = false;
    bool ended = false;
    std::size_t findings = 0;
  };
  void print_step(const DashboardModel& model, const reports::StepRecord& step, Printed& printed,
                  std::int64_t now_wall_ns);
  void print_warnings(const reports::RunSummary& run);
  void add(const std::string& line);

  bool utf8_;
  bool header_printed_ = false;
  int id_width_ = 0;
  std::size_t errors_printed_ = 0;
  std::uint64_t logs_seen_ = 0;
  std::int64_t last_progress_ns_ = 0;
  std::string last_progress_;
  std::vector<Printed> printed_;  // beside the run's steps
  std::string out_;
};

}  // namespace assay::tui
