// Reads a journal, whole or while it grows. What follows the last newline is not an event yet: the
// writer may be in the middle of it, or was cut off there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "reports/record/event.h"

namespace assay::reports {

class JournalReader {
 public:
  // Errors: those of open_regular_file().
  static Result<JournalReader> open(const std::string& path);

  // Called with each event, or with what is wrong with a line and its number (from 1).
  using OnEvent = std::function<void(const Result<Event>& event, std::uint64_t line)>;

  // Hands over every whole line that has come since the last call; at most `max_bytes` are read.
  // Returns how many lines.
  Result<std::uint64_t> poll(const OnEvent& on_event, std::uint64_t max_bytes = UINT64_MAX);

  // Whether the process that writes the journal lives. Ask before the last poll(): what it wrote
  // before it ended is then read.
  bool is_being_written() const;

  // What is behind the last newline; of a line longer than any event may be, only that it is there.
  std::string_view unfinished() const { return skipping_ ? std::string_view("\0", 1) : partial_; }

 private:
  JournalReader(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
  std::string partial_;
  bool skipping_ = false;  // inside a line longer than any event may be
  std::uint64_t lines_ = 0;
};

}  // namespace assay::reports
