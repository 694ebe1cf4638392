// A configuration file of "key = value" lines, edited so that nothing else in it changes: other
// lines, comments, order, line ends and the space around the equals sign stay as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay::probes {

// The value of the key, without white space around it and without a comment behind it; of the last
// line that sets it, as programs that read such files take it. None when no line does.
std::optional<std::string> setting_in(std::string_view text, std::string_view key);

// The text with the key set to the value: every line that sets the key, or a new line at the end.
// A comment behind the value stays. `key` and `value` are neither empty nor hold line ends, '#',
// '=' or white space; else the text comes back as it was.
std::string with_setting(std::string_view text, std::string_view key, std::string_view value);

struct SettingChange {
  std::optional<std::string> before;  // the key's value
  std::string backup;                 // where the file before was copied to; empty: there was none
};

// Sets the key in the file, which is made (0644) when it is not there: first a copy of it beside it
// ("npu.conf.bak", in place of an older one, with the file's mode and owner), then the file, each
// atomically. With `dry_run` nothing is written. Errors: bad_file (larger than 1 MiB, a zero byte
// in it), and those of reading and writing.
Result<SettingChange> change_setting(const std::string& path, std::string_view key,
                                     std::string_view value, bool dry_run);

}  // namespace assay::probes
