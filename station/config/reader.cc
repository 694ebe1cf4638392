#include "station/config/reader.h"

#include <fmt/core.h>

namespace assay::station {
namespace {

using nlohmann::json;

const json& empty_object() {
  static const json empty = json::object();
  return empty;
}

std::string found(const json& j) {
  const std::string text = j.dump(-1, ' ', false, json::error_handler_t::replace);
  return std::string(j.type_name()) + " " + text.substr(0, 40);
}

}  // namespace

ObjectReader::ObjectReader(const LocatedJson& file, std::string pointer,
                           std::optional<Error>& error)
    : file_(file), pointer_(std::move(pointer)), error_(error), object_(&empty_object()) {
  const json::json_pointer at(pointer_);
  const json& value = file_.root().at(at);
  if (value.is_object()) {
    object_ = &value;
  } else {
    refuse("", "expected an object, found " + found(value));
  }
}

const json* ObjectReader::find(const std::string& key, bool required, const char* expected) {
  known_.insert(key);
  const auto at = object_->find(key);
  if (at != object_->end()) return &*at;
  if (required) refuse("", fmt::format("\"{}\" is missing: expected {}", key, expected));
  return nullptr;
}

bool ObjectReader::has(const std::string& key) const {
  return object_->contains(key);
}

std::string ObjectReader::text(const std::string& key) {
  const json* j = find(key, true, "text");
  if (j == nullptr) return {};
  if (!j->is_string() || j->get<std::string>().empty()) {
    refuse(key, fmt::format("\"{}\": expected text, found {}", key, found(*j)));
    return {};
  }
  return j->get<std::string>();
}

std::string ObjectReader::text_or(const std::string& key, std::string otherwise) {
  if (find(key, false, "text") == nullptr) return otherwise;
  return text(key);
}

bool ObjectReader::boolean_or(const std::string& key, bool otherwise) {
  const json* j = find(key, false, "true or false");
  if (j == nullptr) return otherwise;
  if (!j->is_boolean()) {
    refuse(key, fmt::format("\"{}\": expected true or false, found {}", key, found(*j)));
    return otherwise;
  }
  return j->get<bool>();
}

std::int64_t ObjectReader::integer(const std::string& key, std::int64_t least, std::int64_t most) {
  const json* j = find(key, true, "a whole number");
  if (j == nullptr) return least;
  const bool fits =
      j->is_number_integer() && !(j->is_number_unsigned() && j->get<std::uint64_t>() > INT64_MAX);
  if (!fits || j->get<std::int64_t>() < least || j->get<std::int64_t>() > most) {
    refuse(key, fmt::format("\"{}\": expected a whole number from {} to {}, found {}", key, least,
                            most, found(*j)));
    return least;
  }
  return j->get<std::int64_t>();
}

double ObjectReader::number(const std::string& key, double least, double most) {
  const json* j = find(key, true, "a number");
  if (j == nullptr) return least;
  if (!j->is_number() || !(j->get<double>() >= least && j->get<double>() <= most)) {
    refuse(key, fmt::format("\"{}\": expected a number from {} to {}, found {}", key, least, most,
                            found(*j)));
    return least;
  }
  return j->get<double>();
}

std::vector<std::string> ObjectReader::texts(const std::string& key) {
  std::vector<std::string> list;
  const json* j = find(key, true, "a list of texts");
  if (j == nullptr) return list;
  if (!j->is_array() || j->empty()) {
    refuse(key, fmt::format("\"{}\": expected a list of texts, found {}", key, found(*j)));
    return list;
  }
  for (const json& one : *j) {
    if (!one.is_string() || one.get_ref<const std::string&>().empty()) {
      refuse(key, fmt::format("\"{}\": expected a list of texts, found {}", key, found(*j)));
      return list;
    }
    list.push_back(one.get<std::string>());
  }
  return list;
}

std::vector<std::int64_t> ObjectReader::integers(const std::string& key, std::int64_t least,
                                                 std::int64_t most) {
  std::vector<std::int64_t> list;
  const json* j = find(key, true, "a list of whole numbers");
  if (j == nullptr) return list;
  const bool is_list = j->is_array() && !j->empty();
  for (const json& one : is_list ? *j : json::array()) {
    if (!one.is_number_integer() || one.get<double>() < static_cast<double>(least) ||
        one.get<double>() > static_cast<double>(most)) {
      break;
    }
    list.push_back(one.get<std::int64_t>());
  }
  if (!is_list || list.size() != j->size()) {
    refuse(key, fmt::format("\"{}\": expected a list of whole numbers from {} to {}, found {}", key,
                            least, most, found(*j)));
  }
  return list;
}

void ObjectReader::object(const std::string& key, const std::function<void(ObjectReader&)>& read) {
  if (find(key, true, "an object") != nullptr) optional_object(key, read);
}

bool ObjectReader::optional_object(const std::string& key,
                                   const std::function<void(ObjectReader&)>& read) {
  if (find(key, false, "an object") == nullptr) return false;
  ObjectReader member(file_, pointer_to(key), error_);
  if (failed()) return false;
  read(member);
  member.finish();
  return true;
}

void ObjectReader::objects(const std::string& key, const std::function<void(ObjectReader&)>& read) {
  const json* j = find(key, true, "a list");
  if (j == nullptr) return;
  if (!j->is_array()) {
    refuse(key, fmt::format("\"{}\": expected a list, found {}", key, found(*j)));
    return;
  }
  for (std::size_t i = 0; i < j->size() && !failed(); ++i) {
    ObjectReader member(file_, pointer_to(key) + "/" + std::to_string(i), error_);
    if (failed()) return;
    read(member);
    member.finish();
  }
}

std::vector<std::string> ObjectReader::keys() {
  std::vector<std::string> all;
  for (const auto& [key, value] : object_->items()) {
    all.push_back(key);
    known_.insert(key);
  }
  return all;
}

const json& ObjectReader::raw(const std::string& key) {
  static const json nothing;
  const json* j = find(key, true, "a value");
  return j == nullptr ? nothing : *j;
}

std::string ObjectReader::pointer_to(const std::string& key) const {
  json::json_pointer pointer(pointer_);
  pointer /= key;
  return pointer.to_string();
}

void ObjectReader::refuse(const std::string& key, std::string what, std::string hint) {
  if (error_) return;
  error_ = Error{ErrorKind::bad_file, std::move(what),
                 file_.where(has(key) ? pointer_to(key) : pointer_), std::move(hint)};
}

void ObjectReader::finish() {
  for (const auto& [key, value] : object_->items()) {
    if (known_.contains(key)) continue;
    std::string expected;
    for (const auto& name : known_) expected += (expected.empty() ? "" : ", ") + name;
    refuse(key, fmt::format("unknown key \"{}\": expected one of {}", key, expected));
  }
}

}  // namespace assay::station
