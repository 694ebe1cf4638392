// Finds and reads what a run left.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay::test {

// The only run's folder in `out`; empty when there is none yet.
std::filesystem::path run_folder(const std::filesystem::path& out);
nlohmann::json read_json(const std::filesystem::path& path);
std::vector<nlohmann::json> read_journal(const std::filesystem::path& path);
// A step of a report, by id.
nlohmann::json step_of(const nlohmann::json& report, const std::string& id);
// A measurement or series of a step of a report, by name; null when it is not there.
nlohmann::json named(const nlohmann::json& list, const std::string& name);
// Codes of a report's findings ("findings" or "observations").
std::vector<std::string> codes(const nlohmann::json& list);

}  // namespace assay::test
