#include "station/config/located_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/regular_file.h"

namespace assay::station {
namespace {

using nlohmann::json;

constexpr std::size_t max_file_bytes = 1 << 20;
constexpr std::size_t max_depth = 64;

// An input iterator that says how far the parser has read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* consumed) : at_(at), consumed_(consumed) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    if (consumed_ != nullptr) ++*consumed_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* consumed_;
};

std::string escaped(const std::string& key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

// Builds the tree and notes where each value and key begins: the first character behind the last
// event that is neither white space nor ',' nor ':'.
class LocatingHandler : public nlohmann::json_sax<json> {
 public:
  LocatingHandler(LocatedJson& out, const std::size_t& consumed) : out_(out), consumed_(consumed) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(number_integer_t v) override { return value(v); }
  bool number_unsigned(number_unsigned_t v) override { return value(v); }
  bool number_float(number_float_t v, const string_t&) override { return value(v); }
  bool string(string_t& v) override { return value(std::move(v)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    const std::size_t begin = begin_of_token();
    if (level.value->contains(name)) {
      return refuse(begin, "the key \"" + name + "\" is given twice");
    }
    level.key = name;
    level.key_offset = begin;
    done();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
    const std::string what = e.what();
    const std::size_t colon = what.find(": ");
    return refuse(position == 0 ? 0 : position - 1,
                  colon == std::string::npos ? what : what.substr(colon + 2));
  }

  const std::string& error() const { return error_; }
  std::size_t error_offset() const { return error_offset_; }

 private:
  struct Level {
    json* value;
    std::string pointer;
    std::string key;
    std::size_t key_offset = 0;
  };

  std::size_t begin_of_token() const {
    return std::min(out_.text_.find_first_not_of(" \t\r\n,:", last_end_), out_.text_.size());
  }
  void done() {
    // A number's end is seen one character late; that one may be the bracket which opens nothing.
    last_end_ = consumed_;
  }
  bool refuse(std::size_t offset, std::string why) {
    error_ = std::move(why);
    error_offset_ = offset;
    return false;
  }
  json* place(json&& v) {
    const std::size_t begin = begin_of_token();
    if (levels_.empty()) {
      out_.root_ = std::move(v);
      out_.offsets_[""] = begin;
      pointer_ = "";
      return &out_.root_;
    }
    Level& level = levels_.back();
    if (level.value->is_object()) {
      pointer_ = level.pointer + "/" + escaped(level.key);
      out_.offsets_[pointer_] = level.key_offset;
      return &((*level.value)[level.key] = std::move(v));
    }
    pointer_ = level.pointer + "/" + std::to_string(level.value->size());
    out_.offsets_[pointer_] = begin;
    level.value->push_back(std::move(v));
    return &level.value->back();
  }
  bool value(json&& v) {
    place(std::move(v));
    done();
    return true;
  }
  bool open(json&& v) {
    if (levels_.size() >= max_depth) return refuse(begin_of_token(), "nested deeper than 64");
    json* placed = place(std::move(v));
    levels_.push_back({placed, pointer_, {}, 0});
    done();
    return true;
  }
  bool close() {
    levels_.pop_back();
    done();
    return true;
  }

  LocatedJson& out_;
  const std::size_t& consumed_;
  std::vector<Level> levels_;
  std::string pointer_;
  std::size_t last_end_ = 0;
  std::string error_;
  std::size_t error_offset_ = 0;
};

Result<LocatedJson> LocatedJson::parse(std::string_view text, std::string path) {
  LocatedJson out;
  out.path_ = std::move(path);
  out.text_ = text;
  if (text.size() > max_file_bytes) {
    return fail(ErrorKind::bad_file, "is larger than 1 MiB", out.path_);
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return fail(ErrorKind::bad_file, "is empty: expected a JSON object", out.place(0));
  }
  std::size_t consumed = 0;
  LocatingHandler handler(out, consumed);
  const char* begin = out.text_.data();
  const char* end = begin + out.text_.size();
  if (!json::sax_parse(CountingIterator(begin, &consumed), CountingIterator(end, nullptr),
                       &handler)) {
    return fail(ErrorKind::bad_file, handler.error(), out.place(handler.error_offset()));
  }
  return out;
}

Result<LocatedJson> LocatedJson::read(const std::string& path) {
  const auto content = read_regular_file(path, max_file_bytes);
  if (!content) return std::unexpected(content.error());
  return parse(*content, path);
}

std::string LocatedJson::where(const std::string& pointer) const {
  const auto found = offsets_.find(pointer);
  return found == offsets_.end() ? path_ : place(found->second);
}

std::string LocatedJson::place(std::size_t offset) const {
  const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text_.size()));
  const auto line = 1 + std::count(text_.begin(), end, '\n');
  const auto newline = std::find(std::make_reverse_iterator(end), text_.rend(), '\n');
  return fmt::format("{}:{}:{}", path_, line,
                     1 + std::distance(std::make_reverse_iterator(end), newline));
}

}  // namespace assay::station
