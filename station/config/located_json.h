// JSON that people write, with the place of every value, so that an error can name file, line and
// column.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"

namespace assay::station {

class LocatedJson {
 public:
  // `path` is for messages. Errors: bad_file with "path:line:column", also for a key given twice,
  // a depth over 64 and text over 1 MiB.
  static Result<LocatedJson> parse(std::string_view text, std::string path);
  static Result<LocatedJson> read(const std::string& path);

  const nlohmann::json& root() const { return root_; }
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }

  // "path:line:column" of the value at a JSON pointer (RFC 6901), or of its key when it is a
  // member.
  std::string where(const std::string& pointer) const;

 private:
  friend class LocatingHandler;
  std::string place(std::size_t offset) const;

  std::string path_;
  std::string text_;
  nlohmann::json root_;
  std::unordered_map<std::string, std::size_t> offsets_;
};

}  // namespace assay::station
