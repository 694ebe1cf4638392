#include "station/config/library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "station/config/profile.h"

namespace assay::station {
namespace fs = std::filesystem;

Result<Library> Library::open(const std::string& folder) {
  std::vector<std::string> candidates;
  if (!folder.empty()) {
    candidates.push_back(folder);
  } else if (const char* given = std::getenv("ASSAY_BOARDS"); given != nullptr && *given != '\0') {
    candidates.emplace_back(given);
  } else {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    candidates.push_back((program.parent_path() / "../share/assay/boards").lexically_normal());
    candidates.emplace_back(ASSAY_SOURCE_BOARDS);
  }
  for (const std::string& candidate : candidates) {
    std::error_code error;
    if (fs::is_directory(candidate, error)) return Library(candidate);
  }
  return fail(ErrorKind::bad_file, "no folder of board profiles", candidates.back(),
              "name it with the environment variable ASSAY_BOARDS");
}

std::vector<std::string> Library::files(const std::string& below) const {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(folder_) / below, error)) {
    if (entry.path().extension() == ".json") found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::string> Library::find(const std::string& name, const std::string& below,
                                  const char* kind) const {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return name;
  std::string known;
  for (const std::string& path : files(below)) {
    if (stem(path) == name) return path;
    known += (known.empty() ? "" : ", ") + stem(path);
  }
  return fail(ErrorKind::usage, std::string("no ") + kind + " \"" + name + "\"", {},
              "there are: " + known);
}

Result<probes::BoardProfile> Library::board(const std::string& name) const {
  const auto path = find(name, "", "board");
  if (!path) return std::unexpected(path.error());
  const auto file = LocatedJson::read(*path);
  if (!file) return std::unexpected(file.error());
  return parse_profile(*file);
}

Result<Plan> Library::plan(const std::string& name) const {
  const auto path = find(name, "plans", "plan");
  if (!path) return std::unexpected(path.error());
  const auto file = LocatedJson::read(*path);
  if (!file) return std::unexpected(file.error());
  return parse_plan(*file);
}

std::string stem(const std::string& path) {
  return fs::path(path).stem().string();
}

}  // namespace assay::station
