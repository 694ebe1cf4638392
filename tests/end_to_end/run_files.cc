#include "tests/end_to_end/run_files.h"

#include <sstream>

#include "tests/support/program.h"

namespace assay::test {

std::filesystem::path run_folder(const std::filesystem::path& out) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(out, error)) return entry.path();
  return {};
}

nlohmann::json read_json(const std::filesystem::path& path) {
  return nlohmann::json::parse(read_file(path), nullptr, false);
}

std::vector<nlohmann::json> read_journal(const std::filesystem::path& path) {
  std::vector<nlohmann::json> events;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) events.push_back(nlohmann::json::parse(line));
  return events;
}

nlohmann::json step_of(const nlohmann::json& report, const std::string& id) {
  for (const auto& step : report["steps"]) {
    if (step["id"] == id) return step;
  }
  return {};
}

nlohmann::json named(const nlohmann::json& list, const std::string& name) {
  for (const auto& one : list) {
    if (one["name"] == name) return one;
  }
  return {};
}

std::vector<std::string> codes(const nlohmann::json& list) {
  std::vector<std::string> found;
  for (const auto& one : list) found.push_back(one["code"]);
  return found;
}

}  // namespace assay::test
