#include "probes/thermal/setting_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/regular_file.h"

namespace assay::probes {
namespace {

constexpr std::size_t most_file_bytes = 1 << 20;
constexpr std::string_view white = " \t\r";

// Where in a line the value of the key lies; `npos` when the line does not set it.
struct ValuePlace {
  std::size_t first = std::string_view::npos;
  std::size_t size = 0;
};

ValuePlace value_place(std::string_view line, std::string_view key) {
  const std::size_t start = std::min(line.find_first_not_of(white), line.size());
  if (!line.substr(start).starts_with(key)) return {};
  const std::size_t equals = line.find_first_not_of(white, start + key.size());
  if (equals == line.npos || line[equals] != '=') return {};
  std::size_t first = std::min(line.find_first_not_of(white, equals + 1), line.size());
  // A comment begins behind white space: "a#b" and "#b" right behind the equals sign are values.
  const bool comment = first < line.size() && line[first] == '#' && first > equals + 1;
  // "key =   # comment", "key =\r": an empty value, right behind the equals sign.
  if (first == line.size() || comment) return {equals + 1, 0};
  std::size_t end = first;
  while (end < line.size() && !(line[end] == '#' && white.find(line[end - 1]) != white.npos)) ++end;
  while (end > first && white.find(line[end - 1]) != white.npos) --end;
  return {first, end - first};
}

// Calls on_line with each line without its line feed, and whether it had one.
template <class OnLine>
void for_each_setting_line(std::string_view text, OnLine on_line) {
  while (!text.empty()) {
    const std::size_t feed = text.find('\n');
    on_line(text.substr(0, feed), feed != text.npos);
    text.remove_prefix(feed == text.npos ? text.size() : feed + 1);
  }
}

bool is_word(std::string_view text) {
  return !text.empty() && text.find_first_of(std::string_view("\n\r \t#=\0", 7)) == text.npos;
}

// A copy of the file, never readable for whom the file is not.
Result<> copy_beside(const std::string& path, const std::string& content,
                     const std::string& backup) {
  struct stat original {};
  if (::stat(path.c_str(), &original) != 0) return fail_errno(errno, "cannot read", path);
  // The mode is taken over from what is there, so it is there with that mode before the content.
  {
    const UniqueFd fd(::open(backup.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return fail_errno(errno, "cannot write", backup);
    if (::fchmod(fd.get(), original.st_mode & 0777) != 0) {
      return fail_errno(errno, "cannot write", backup);
    }
  }
  if (auto written = write_file_atomically(backup, content); !written) return written;
  if (::geteuid() == 0 && ::chown(backup.c_str(), original.st_uid, original.st_gid) != 0) {
    return fail_errno(errno, "cannot give to its owner", backup);
  }
  return {};
}

}  // namespace

std::optional<std::string> setting_in(std::string_view text, std::string_view key) {
  std::optional<std::string> value;
  for_each_setting_line(text, [&](std::string_view line, bool) {
    const ValuePlace place = value_place(line, key);
    if (place.first != line.npos) value = line.substr(place.first, place.size);
  });
  return value;
}

std::string with_setting(std::string_view text, std::string_view key, std::string_view value) {
  if (!is_word(key) || !is_word(value)) return std::string(text);
  std::string changed;
  bool found = false;
  bool carriage_returns = false;
  for_each_setting_line(text, [&](std::string_view line, bool has_feed) {
    const ValuePlace place = value_place(line, key);
    if (place.first == line.npos) {
      changed += line;
    } else {
      found = true;
      changed += line.substr(0, place.first);
      changed += value;
      changed += line.substr(place.first + place.size);
    }
    if (has_feed) changed += '\n';
    carriage_returns = has_feed && line.ends_with('\r');
  });
  if (found) return changed;
  const std::string_view line_end = carriage_returns ? "\r\n" : "\n";
  if (!changed.empty() && changed.back() != '\n') changed += line_end;
  changed.append(key).append("=").append(value).append(line_end);
  return changed;
}

Result<SettingChange> change_setting(const std::string& path, std::string_view key,
                                     std::string_view value, bool dry_run) {
  std::string text;
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(path, ignored);
  if (is_there) {
    auto content = read_regular_file(path, most_file_bytes);
    if (!content) return std::unexpected(content.error());
    if (content->find('\0') != content->npos) {
      return fail(ErrorKind::bad_file, "holds a zero byte: no text of keys and values", path);
    }
    text = std::move(*content);
  }
  SettingChange change{setting_in(text, key), is_there ? path + ".bak" : ""};
  if (dry_run) return change;
  if (is_there) {
    if (auto copied = copy_beside(path, text, change.backup); !copied) {
      return std::unexpected(copied.error());
    }
  }
  if (auto written = write_file_atomically(path, with_setting(text, key, value)); !written) {
    return std::unexpected(written.error());
  }
  return change;
}

}  // namespace assay::probes
