#include "station/virtual/board_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

namespace assay::station {
namespace {

namespace fs = std::filesystem;

constexpr const char* prefix = "assay-virtual-";
constexpr const char* lock_name = ".lock";

std::string base_folder() {
  const char* given = getenv("TMPDIR");
  return given != nullptr && *given != '\0' ? given : "/tmp";
}

void remove_tree(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

// A folder whose lock can be had belongs to nobody. One without a lock file is just being made.
void clear_away_dead(const std::string& base) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(base, error)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    const UniqueFd lock(::open((entry.path() / lock_name).c_str(), O_RDWR | O_CLOEXEC));
    if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) == 0) remove_tree(entry.path());
  }
}

}  // namespace

Result<BoardFolder> BoardFolder::make() {
  const std::string base = base_folder();
  clear_away_dead(base);
  std::string path = base + "/" + prefix + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return fail_errno(errno, "cannot make the virtual board's folder", path);
  }
  // Locked under another name first: there is no moment in which it looks dead.
  const std::string lock_path = path + "/" + lock_name;
  UniqueFd lock(::open((lock_path + ".new").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
      ::rename((lock_path + ".new").c_str(), lock_path.c_str()) != 0) {
    const int error = errno;
    remove_tree(path);
    return fail_errno(error, "cannot lock the virtual board's folder", path);
  }
  return BoardFolder(std::move(path), std::move(lock));
}

BoardFolder::BoardFolder(BoardFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
  other.path_.clear();
}

BoardFolder::~BoardFolder() {
  if (!path_.empty()) remove_tree(path_);
}

}  // namespace assay::station
