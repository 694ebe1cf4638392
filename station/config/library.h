// Where profiles, plans and virtual boards lie: the folder given, else $ASSAY_BOARDS, else beside
// the program (../share/assay/boards), else the source tree that it was built from.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "probes/framework/board_profile.h"
#include "station/config/plan.h"

namespace assay::station {

class Library {
 public:
  // Errors: bad_file when no folder of boards can be found.
  static Result<Library> open(const std::string& folder = {});

  // `name` is an id, or a path when it has a '/' or ends in ".json". Errors: usage with the names
  // there are; bad_file.
  Result<probes::BoardProfile> board(const std::string& name) const;
  Result<Plan> plan(const std::string& name) const;

  // Paths, sorted.
  std::vector<std::string> board_files() const { return files(""); }
  std::vector<std::string> plan_files() const { return files("plans"); }
  std::vector<std::string> virtual_board_files() const { return files("virtual"); }
  // Where firmware images lie: here, and in boards/firmware.
  std::vector<std::string> firmware_folders() const { return {".", folder_ + "/firmware"}; }

 private:
  explicit Library(std::string folder) : folder_(std::move(folder)) {}
  std::vector<std::string> files(const std::string& below) const;
  Result<std::string> find(const std::string& name, const std::string& below,
                           const char* kind) const;

  std::string folder_;
};

// "m6-mini" of ".../m6-mini.json".
std::string stem(const std::string& path);

}  // namespace assay::station
