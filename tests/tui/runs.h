// Hand-made runs, written as any run is: through a Recorder into a journal.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "reports/record/recorder.h"
#include "tui/model.h"

namespace assay::tui {

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

// What a moment of the run shows. The journal is complete for all but `running` and `cut_off`.
enum class RunMoment { empty, started, running, passed, failed, incomplete, aborted };

inline constexpr const char* cjk_serial = "M6-测试-004417";

// Writes the events up to that moment. The Recorder is given back: it is the journal's writer.
std::unique_ptr<reports::Recorder> write_run(const std::string& journal, RunMoment moment);

// The model of the journal as it is now.
DashboardModel model_of(const std::string& journal, bool growing);

}  // namespace assay::tui
