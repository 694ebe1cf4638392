// Reads a LocatedJson object by declared keys: wrong types, values out of range and keys that
// nobody asked for are errors with file:line:column and what was expected. The first one is kept;
// after it, every call returns a default, so that a caller checks once at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "station/config/located_json.h"

namespace assay::station {

class ObjectReader {
 public:
  // The object at `pointer`; `name` is what messages call it ("memory", "step").
  ObjectReader(const LocatedJson& file, std::string pointer, std::optional<Error>& error);

  bool has(const std::string& key) const;
  std::string text(const std::string& key);
  std::string text_or(const std::string& key, std::string otherwise);
  bool boolean_or(const std::string& key, bool otherwise);
  // Inclusive range.
  std::int64_t integer(const std::string& key, std::int64_t least, std::int64_t most);
  double number(const std::string& key, double least, double most);
  std::vector<std::string> texts(const std::string& key);
  std::vector<std::int64_t> integers(const std::string& key, std::int64_t least, std::int64_t most);
  // The member object, read by `read`; when it is absent, an error unless it is optional.
  void object(const std::string& key, const std::function<void(ObjectReader&)>& read);
  bool optional_object(const std::string& key, const std::function<void(ObjectReader&)>& read);
  // Each element of a list of objects.
  void objects(const std::string& key, const std::function<void(ObjectReader&)>& read);

  // All keys, in the file's order of names; each counts as asked for.
  std::vector<std::string> keys();
  // The value itself, for what has no fixed type.
  const nlohmann::json& raw(const std::string& key);
  std::string pointer_to(const std::string& key) const;

  // An error at a key of this object, or at the object itself when it has no such key.
  void refuse(const std::string& key, std::string what, std::string hint = {});
  // Refuses the keys that were not asked for.
  void finish();
  bool failed() const { return error_.has_value(); }

 private:
  const nlohmann::json* find(const std::string& key, bool required, const char* expected);

  const LocatedJson& file_;
  std::string pointer_;
  std::optional<Error>& error_;
  const nlohmann::json* object_;
  std::set<std::string> known_;
};

}  // namespace assay::station
