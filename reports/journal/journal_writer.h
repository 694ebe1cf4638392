// The append-only file of a run. One writer; every line is handed to the kernel as one write, so
// that a reader beside it sees whole lines and a killed process loses at most the line in hand.
// The file is locked (flock) as long as the writer lives: a reader can tell a run that goes on from
// one that was cut off.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace assay::reports {

class JournalWriter {
 public:
  // Creates the file; an existing one is an error: a journal is never overwritten.
  static Result<JournalWriter> create(const std::string& path);

  // Appends the line and its newline.
  Result<> append(std::string_view line);
  // To the disk.
  Result<> sync();

  const std::string& path() const { return path_; }

 private:
  JournalWriter(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

}  // namespace assay::reports
