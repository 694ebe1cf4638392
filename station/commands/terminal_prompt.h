// The person at standard input. What is shown goes to standard error: standard output is the
// command's result.
#pragma once

#include <string>

#include "probes/framework/prompt.h"

namespace assay::station {

class TerminalPrompt final : public probes::Prompt {
 public:
  void show(const std::string& text) override;
  // Also ErrorKind::io, and bad_file for a line over 4,096 bytes.
  Result<std::optional<std::string>> next_line(std::int64_t deadline_ns) override;

 private:
  std::string typed_;
  bool ended_ = false;
};

}  // namespace assay::station
