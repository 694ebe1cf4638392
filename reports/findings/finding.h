// A finding: what was seen, the evidence, the likely causes and what to do. Codes are stable.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::reports {

enum class FindingKind {
  fault,        // the board's: fails the step
  observation,  // worth knowing, and no fault of the board
};

struct Finding {
  std::string code;
  FindingKind kind = FindingKind::fault;
  std::string message;                // one sentence with the figures
  std::string where;                  // the part concerned; may be empty
  std::vector<std::string> evidence;  // raw values that show it
  // Empty means the catalog's.
  std::vector<std::string> likely;
  std::vector<std::string> remedy;
};

struct CatalogEntry {
  std::string_view code;
  std::string_view title;
  std::vector<std::string> likely;
  std::vector<std::string> remedy;
  // What is tested further would be told of the wrong board.
  bool stops_run = false;
};

// Every finding that the suite can make, by code.
std::span<const CatalogEntry> finding_catalog();
const CatalogEntry* find_catalog_entry(std::string_view code);

// Causes and remedies filled in from the catalog where the finding brings none of its own.
Finding complete(Finding finding);

}  // namespace assay::reports
