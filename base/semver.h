// Semantic versions (semver.org 2.0.0, section 11): 2.1.4-rc3 < 2.1.4-rc10 < 2.1.4 < 2.3.1
// < 2.10.0.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

struct SemanticVersion {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::vector<std::string> prerelease;  // dot-separated identifiers; empty for a release
  std::string build;                    // after "+"; takes no part in the order

  std::string text() const;
  // Numeric identifiers compare as numbers and sort below others. In the others, such as "rc10",
  // runs of digits compare as numbers too: vendors count that way, and the plain rule would sort
  // rc10 below rc3.
  std::strong_ordering operator<=>(const SemanticVersion& other) const;
  bool operator==(const SemanticVersion& other) const { return (*this <=> other) == 0; }
};

// MAJOR.MINOR.PATCH with optional -prerelease and +build, at most 128 bytes. Numbers have no
// leading zeros (sections 2 and 9); identifiers that are no numbers may: "rc01".
Result<SemanticVersion> parse_semantic_version(std::string_view text);

}  // namespace assay
