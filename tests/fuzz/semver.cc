// base/semver.h: versions that a board answers. The input is three of them, one a line.
#include "base/semver.h"

#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = assay::fuzz::text_of(data, size);
  std::vector<assay::SemanticVersion> versions;
  while (versions.size() < 3) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const auto version = assay::parse_semantic_version(rest.substr(0, end));
    if (!version) return 0;
    const auto again = assay::parse_semantic_version(version->text());
    require(again && again->text() == version->text(), "a version's text is a version");
    require(*again == *version, "and the same one");
    versions.push_back(*version);
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  assay::fuzz::reached(std::to_string(versions.size()) + " versions");
  for (const auto& a : versions) {
    for (const auto& b : versions) {
      require((a < b) == (b > a) && (a == b) == (b == a), "an order has two directions");
      for (const auto& c : versions) {
        require(!(a <= b && b <= c) || a <= c, "an order does not go round in a circle");
      }
    }
  }
  return 0;
}
