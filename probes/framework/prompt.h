// A person at a terminal whom a probe asks for what no sensor tells. A run without one has none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace assay::probes {

// Used by one thread.
class Prompt {
 public:
  Prompt() = default;
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;
  virtual ~Prompt() = default;

  // One line of text for the person, a question or what to wait for.
  virtual void show(const std::string& text) = 0;
  // The next line typed, without its end; none at the end of input. ErrorKind::timeout while there
  // is none by the deadline (monotonic_ns()).
  virtual Result<std::optional<std::string>> next_line(std::int64_t deadline_ns) = 0;
};

}  // namespace assay::probes
