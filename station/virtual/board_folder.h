// The folder that a virtual board's files live in: gone with its owner. What an owner that was
// killed left behind, the next one clears away; a lock tells the dead from the living.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace assay::station {

class BoardFolder {
 public:
  // In $TMPDIR or /tmp.
  static Result<BoardFolder> make();
  BoardFolder(BoardFolder&& other) noexcept;
  BoardFolder& operator=(BoardFolder&&) = delete;
  ~BoardFolder();

  const std::string& path() const { return path_; }

 private:
  BoardFolder(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  UniqueFd lock_;
};

}  // namespace assay::station
