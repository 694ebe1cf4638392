// Data flows one way, and so do includes: an arrow of the design is a row here, and whatever else a
// source includes of this project is an error.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "reports/findings/finding.h"
#include "tests/support/program.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Folder -> the prefixes that its sources may include.
const std::map<std::string, std::vector<std::string>> arrows = {
    {"base", {"base/"}},
    {"firmware/device", {"firmware/device/"}},
    {"firmware", {"base/", "firmware/"}},
    {"runtime", {"base/", "runtime/"}},
    {"reports", {"base/", "reports/"}},
    {"probes",
     {"base/", "probes/", "reports/record/", "reports/findings/", "runtime/", "firmware/image/",
      "firmware/serial/", "firmware/usb/", "firmware/update/"}},
    {"tui", {"base/", "reports/", "tui/"}},
    {"station", {"base/", "firmware/", "probes/", "reports/", "runtime/", "station/", "tui/"}},
};

// The most exact row that holds the path.
const std::vector<std::string>& allowed_for(const std::string& path) {
  const auto* best = &arrows.begin()->second;
  std::size_t length = 0;
  for (const auto& [folder, allowed] : arrows) {
    if (path.starts_with(folder + "/") && folder.size() > length) {
      best = &allowed;
      length = folder.size();
    }
  }
  return *best;
}

// What `text`, the source at `path`, includes against the arrows.
std::vector<std::string> violations(const std::string& path, const std::string& text) {
  static const std::regex include("^[ \t]*#[ \t]*include[ \t]*[\"<]([^\">]+)[\">]");
  static const std::regex ours(
      "(base|firmware|runtime|reports|probes|tui|station|tests|boards)/.*");
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, include)) continue;
    const std::string name = match[1];
    const bool quoted = line.find('"') != std::string::npos;
    // A quoted include is a path from the root, so that the arrows can be seen; SIMD headers of one
    // source ("x-inl.h") too.
    if (!quoted && !std::regex_match(name, ours)) continue;
    bool allowed = false;
    for (const std::string& prefix : allowed_for(path))
      allowed = allowed || name.starts_with(prefix);
    if (!allowed) found.push_back(path + " includes " + name);
  }
  return found;
}

TEST(IncludeArrows, noSourceIncludesAgainstTheDesign) {
  const fs::path root = ASSAY_SOURCE;
  int sources = 0;
  for (const char* folder :
       {"base", "firmware", "runtime", "reports", "probes", "tui", "station"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      ++sources;
      const std::string path = fs::relative(entry.path(), root);
      for (const std::string& violation : violations(path, test::read_file(entry.path()))) {
        ADD_FAILURE() << violation;
      }
    }
  }
  EXPECT_GT(sources, 100);
}

TEST(IncludeArrows, theCheckSeesAViolation) {
  EXPECT_EQ(violations("base/x.cc", "#include \"reports/record/event.h\"\n").size(), 1u);
  EXPECT_EQ(violations("probes/pcie/x.cc", "  #  include <reports/json/report.h>\n").size(), 1u);
  EXPECT_EQ(violations("tui/x.cc", "#include \"station/run/runner.h\"\n").size(), 1u);
  EXPECT_EQ(violations("firmware/device/x.cc", "#include \"base/result.h\"\n").size(), 1u);
  EXPECT_EQ(violations("station/x.cc", "#include \"tests/support/program.h\"\n").size(), 1u);
  EXPECT_EQ(violations("runtime/x.cc", "#include \"neighbour.h\"\n").size(), 1u);
  EXPECT_TRUE(violations("probes/x.cc", "#include <vector>\n#include \"base/result.h\"\n").empty());
}

// Boards are data: their names stand in boards/ and nowhere in the code.
TEST(BoardsAreData, noSourceKnowsABoardsName) {
  const fs::path root = ASSAY_SOURCE;
  for (const char* folder :
       {"base", "firmware", "runtime", "reports", "probes", "tui", "station"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      std::istringstream lines(test::read_file(entry.path()));
      for (std::string line; std::getline(lines, line);) {
        // Comments and examples in help texts may name one.
        const bool example = line.find("//") != std::string::npos ||
                             line.find("  assay ") != std::string::npos ||
                             line.find("  sudo assay ") != std::string::npos;
        EXPECT_TRUE(example || line.find("m6-mini") == std::string::npos)
            << entry.path() << ": " << line;
      }
    }
  }
}

// A code in the catalog that nothing makes is a promise that is not kept.
TEST(Findings, everyCodeOfTheCatalogIsMadeByAProbe) {
  const fs::path root = ASSAY_SOURCE;
  std::string probes;
  for (const auto& entry : fs::recursive_directory_iterator(root / "probes")) {
    if (entry.path().extension() == ".cc") probes += test::read_file(entry.path());
  }
  ASSERT_FALSE(reports::finding_catalog().empty());
  for (const auto& entry : reports::finding_catalog()) {
    EXPECT_NE(probes.find('"' + std::string(entry.code) + '"'), std::string::npos) << entry.code;
  }
}

}  // namespace
}  // namespace assay
