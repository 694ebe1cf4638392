#include "station/run/run_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <ctime>

#include "base/atomic_file.h"
#include "base/clock.h"

namespace assay::station {

std::string file_name_of(const std::string& serial) {
  std::string name;
  for (const char c : serial.substr(0, 64)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    name += plain ? c : '_';
  }
  if (name.empty() || name[0] == '.') name.insert(0, "_");
  return name;
}

Result<std::string> make_run_folder(const std::string& out, const std::string& serial,
                                    std::int64_t wall) {
  if (auto made = make_folders(out); !made) return std::unexpected(made.error());
  const std::time_t seconds = wall / ns_per_s;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
  const std::string base = out + "/" + file_name_of(serial) + "-" + stamp;
  for (int attempt = 1; attempt <= 1000; ++attempt) {
    std::string folder = attempt == 1 ? base : base + "-" + std::to_string(attempt);
    if (mkdir(folder.c_str(), 0755) == 0) return folder;
    if (errno != EEXIST) return fail_errno(errno, "cannot make the run's folder", folder);
  }
  return fail(ErrorKind::io, "too many runs of this serial in one second", base);
}

}  // namespace assay::station
