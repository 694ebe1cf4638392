// probes/thermal/setting_file.h: a configuration file of anyone's, in which one key is set.
#include "probes/thermal/setting_file.h"

#include <algorithm>

#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;
using assay::probes::setting_in;
using assay::probes::with_setting;

namespace {

long lines_of(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n');
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = assay::fuzz::text_of(data, size);
  const auto before = setting_in(text, "temp_offset");
  assay::fuzz::reached(before ? "set to " + *before : "not set");
  const std::string changed = with_setting(text, "temp_offset", "-1800");
  require(setting_in(changed, "temp_offset") == "-1800", "what was set is read");
  require(with_setting(changed, "temp_offset", "-1800") == changed, "set again, nothing changes");
  require(setting_in(changed, "other") == setting_in(text, "other"), "other keys stay");
  if (before) {
    require(lines_of(changed) == lines_of(text), "no line is added to a file that sets it");
  } else {
    require(changed.starts_with(text), "what was there stays in front");
    require(lines_of(changed) <= lines_of(text) + 2, "one line is added");
  }
  return 0;
}
