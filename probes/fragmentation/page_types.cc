#include "probes/fragmentation/page_types.h"

#include <charconv>

namespace assay::probes {
namespace {

constexpr std::size_t most_rows = 4096;
constexpr std::size_t most_columns = 64;
constexpr std::size_t longest_name = 64;
constexpr int largest_block_order = 40;

// Words between blanks, commas and line ends.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (words.size() <= 2 * most_columns) {
    const std::size_t begin = line.find_first_not_of(" \t\r,");
    if (begin == line.npos) break;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r,"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

template <class T>
bool is_number(std::string_view word, T& value) {
  const auto [at, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && at == word.data() + word.size() && !word.empty();
}

class PageTypesReader {
 public:
  // False: the line is none that this file has.
  bool take(std::string_view line) {
    if (line.starts_with("Page block order:")) {
      const auto words = words_of(line.substr(17));
      return words.size() == 1 && is_number(words[0], found_.block_order) &&
             found_.block_order >= 0 && found_.block_order <= largest_block_order;
    }
    if (line.starts_with("Free pages count per migrate type")) {
      section_ = Section::free;
      return true;
    }
    if (line.starts_with("Number of blocks type")) {
      section_ = Section::blocks;
      types_.clear();
      for (const std::string_view word : words_of(line.substr(21))) types_.emplace_back(word);
      return !types_.empty() && types_.size() <= most_columns;
    }
    // "Number of mixed blocks", with page_owner, and what later kernels add.
    if (!line.starts_with("Node")) {
      if (line.starts_with("Number of")) section_ = Section::none;
      return true;
    }
    if (found_.free.size() + found_.blocks.size() >= most_rows) return false;
    const auto words = words_of(line);
    return section_ == Section::free     ? take_free(words)
           : section_ == Section::blocks ? take_blocks(words)
                                         : true;
  }
  const PageTypes& found() const { return found_; }

 private:
  enum class Section { none, free, blocks };

  // Node 0 zone DMA32 type Unmovable 1 0 ...
  bool take_free(const std::vector<std::string_view>& words) {
    PageTypeZone row;
    if (words.size() < 7 || words.size() > 6 + most_columns || !is_number(words[1], row.node) ||
        words[2] != "zone" || words[4] != "type" || words[3].size() > longest_name ||
        words[5].size() > longest_name) {
      return false;
    }
    row.zone = words[3];
    row.type = words[5];
    for (std::size_t i = 6; i < words.size(); ++i) {
      std::string_view count = words[i];
      if (count.starts_with('>')) {
        row.at_least = true;
        count.remove_prefix(1);
      }
      if (!is_number(count, row.blocks.emplace_back())) return false;
    }
    found_.free.push_back(std::move(row));
    return true;
  }

  // Node 0 zone DMA32 1 7 0 ...
  bool take_blocks(const std::vector<std::string_view>& words) {
    PageBlocks row;
    if (words.size() != 4 + types_.size() || !is_number(words[1], row.node) || words[2] != "zone" ||
        words[3].size() > longest_name) {
      return false;
    }
    row.zone = words[3];
    for (std::size_t i = 0; i < types_.size(); ++i) {
      if (!is_number(words[4 + i], row.blocks)) return false;
      row.type = types_[i];
      found_.blocks.push_back(row);
    }
    return true;
  }

  PageTypes found_;
  Section section_ = Section::none;
  std::vector<std::string> types_;
};

}  // namespace

Result<PageTypes> parse_page_types(std::string_view text) {
  constexpr const char* file = "/proc/pagetypeinfo";
  PageTypesReader reader;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!reader.take(text.substr(0, end))) {
      return fail(ErrorKind::protocol,
                  "line " + std::to_string(number) + " is none that this file has", file);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (reader.found().free.empty()) {
    return fail(ErrorKind::protocol, "has no free blocks by type", file);
  }
  return reader.found();
}

}  // namespace assay::probes
