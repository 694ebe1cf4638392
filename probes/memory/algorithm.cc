#include "probes/memory/algorithm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace assay::probes {
namespace {

struct March {
  const char* name;
  const char* notation;
};

// MATS+: Abadir, Reghbati 1983. X, Y, C-, A, B: van de Goor 1991/1993. LR: van de Goor et al. 1996.
// SS: Hamdioui, van de Goor, Rodgers 2002.
constexpr std::array<March, 8> marches = {{
    {"mats+", "⇕(w0);⇑(r0,w1);⇓(r1,w0)"},
    {"march-x", "⇕(w0);⇑(r0,w1);⇓(r1,w0);⇕(r0)"},
    {"march-y", "⇕(w0);⇑(r0,w1,r1);⇓(r1,w0,r0);⇕(r0)"},
    {"march-c-", "⇕(w0);⇑(r0,w1);⇑(r1,w0);⇓(r0,w1);⇓(r1,w0);⇕(r0)"},
    {"march-a", "⇕(w0);⇑(r0,w1,w0,w1);⇑(r1,w0,w1);⇓(r1,w0,w1,w0);⇓(r0,w1,w0)"},
    {"march-b", "⇕(w0);⇑(r0,w1,r1,w0,r0,w1);⇑(r1,w0,w1);⇓(r1,w0,w1,w0);⇓(r0,w1,w0)"},
    {"march-lr", "⇕(w0);⇓(r0,w1);⇑(r1,w0,r0,w1);⇑(r1,w0);⇑(r0,w1,r1,w0);⇑(r0)"},
    {"march-ss",
     "⇕(w0);⇑(r0,r0,w0,r0,w1);⇑(r1,r1,w1,r1,w0);⇓(r0,r0,w0,r0,w1);⇓(r1,r1,w1,r1,w0);⇕(r0)"},
}};

constexpr std::array<const char*, 9> others = {"walking-ones",      "walking-zeros", "checkerboard",
                                               "address",           "random",        "modulo-20",
                                               "moving-inversions", "block-move",    "bit-fade"};

constexpr std::array<std::pair<std::string_view, Order>, 3> orders = {
    {{"⇕", Order::any}, {"⇑", Order::up}, {"⇓", Order::down}}};

// log2(bits) + 1 of them make any two bits differ in one at least (Dekker et al. 1990): the first 7
// those of a word, all 10 those of a line.
constexpr std::array<Background, most_backgrounds> march_backgrounds = {{
    {.value = 0},
    {.value = 0x5555555555555555},
    {.value = 0x3333333333333333},
    {.value = 0x0F0F0F0F0F0F0F0F},
    {.value = 0x00FF00FF00FF00FF},
    {.value = 0x0000FFFF0000FFFF},
    {.value = 0x00000000FFFFFFFF},
    {.inverted_words = 1, .value = 0},
    {.inverted_words = 2, .value = 0},
    {.inverted_words = 4, .value = 0},
}};

Background inverse(Background background) {
  background.inverted = !background.inverted;
  return background;
}

Operation read(std::size_t data, Select select = Select::all) {
  return {false, static_cast<std::uint8_t>(data), select};
}
Operation write(std::size_t data, Select select = Select::all) {
  return {true, static_cast<std::uint8_t>(data), select};
}

// w d0; then each next datum is written where the one before it was verified; at last r dn.
void add_chain(Algorithm& algorithm, std::vector<Background> data) {
  algorithm.data = std::move(data);
  const std::size_t count = algorithm.data.size();
  algorithm.elements.push_back({Order::any, {write(0)}});
  for (std::size_t i = 1; i < count; ++i) {
    algorithm.elements.push_back({Order::up, {read(i - 1), write(i)}});
  }
  algorithm.elements.push_back({Order::any, {read(count - 1)}});
}

// The elements once for each background: data 2k is the background, 2k + 1 its inverse.
void add_march(Algorithm& algorithm, const std::vector<Element>& elements, unsigned backgrounds) {
  algorithm.backgrounds = backgrounds;
  for (unsigned b = 0; b < backgrounds; ++b) {
    algorithm.data.push_back(march_backgrounds[b]);
    algorithm.data.push_back(inverse(march_backgrounds[b]));
    for (Element element : elements) {
      element.ordered = true;
      for (Operation& op : element.operations) op.data = static_cast<std::uint8_t>(op.data + 2 * b);
      algorithm.elements.push_back(std::move(element));
    }
  }
}

std::vector<Background> walking(bool ones) {
  std::vector<Background> data;
  for (unsigned bit = 0; bit < 64; ++bit) {
    data.push_back({.inverted = !ones, .value = std::uint64_t{1} << bit});
  }
  return data;
}

// Each twentieth word gets a pattern and all others its complement, twice: what a buffer or a cache
// merges of neighbouring writes shows in the words that were not to be touched (memtest86).
void add_modulo_20(Algorithm& algorithm) {
  for (unsigned offset = 0; offset < 20; ++offset) {
    for (const bool inverted : {false, true}) {
      const std::size_t data = algorithm.data.size();
      algorithm.data.push_back({.kind = Background::Kind::modulo_20,
                                .inverted = inverted,
                                .offset = static_cast<std::uint8_t>(offset),
                                .value = 0});
      algorithm.elements.push_back({Order::up, {write(data, Select::chosen)}});
      algorithm.elements.push_back({Order::up, {write(data, Select::others)}});
      algorithm.elements.push_back({Order::up, {write(data, Select::others)}});
      algorithm.elements.push_back({Order::up, {read(data)}});
    }
  }
}

// Twice up and down, then the same on inverted data (memtest86's moving inversions, k = 2).
void add_moving_inversions(Algorithm& algorithm, std::uint64_t seed) {
  const Background random{.kind = Background::Kind::random, .value = seed};
  algorithm.data = {random, inverse(random)};
  for (const std::size_t first : {0, 1}) {
    const std::size_t second = 1 - first;
    algorithm.elements.push_back({Order::any, {write(first)}});
    for (int k = 0; k < 2; ++k) {
      algorithm.elements.push_back({Order::up, {read(first), write(second)}});
      algorithm.elements.push_back({Order::down, {read(second), write(first)}});
    }
    algorithm.elements.push_back({Order::any, {read(first)}});
  }
  for (Element& element : algorithm.elements) element.ordered = true;
}

// Written, left alone for the hold time, read: zeros that charge up and ones that leak away.
void add_bit_fade(Algorithm& algorithm) {
  algorithm.fixed_patterns = true;
  algorithm.data = {Background{.value = 0}, Background{.inverted = true, .value = 0}};
  for (const std::size_t data : {0, 1}) {
    algorithm.elements.push_back({Order::any, {write(data)}});
    algorithm.elements.push_back({Order::any, {read(data)}, true});
  }
}

std::string all_names() {
  std::string all;
  for (const std::string& name : algorithm_names()) all += (all.empty() ? "" : ", ") + name;
  return all;
}

Result<std::uint64_t> parse_pattern(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorKind::usage,
                fmt::format("\"{}\" is not a pattern", std::string(text.substr(0, 40))), {},
                "write 0x and 2, 4, 8 or 16 hex digits, such as 0xAAAAAAAA");
  };
  const std::size_t digits = text.size() - 2;
  if (digits != 2 && digits != 4 && digits != 8 && digits != 16) return bad();
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + 2, end, value, 16);
  if (error != std::errc{} || at != end) return bad();
  for (std::size_t bits = digits * 4; bits < 64; bits *= 2) value |= value << bits;
  return value;
}

Result<Algorithm> make_pattern(const std::string& name) {
  const bool complement = name.ends_with('~');
  const auto pattern =
      parse_pattern(std::string_view(name).substr(0, name.size() - (complement ? 1 : 0)));
  if (!pattern) return std::unexpected(pattern.error());
  Algorithm algorithm{.name = name, .notation = "", .fixed_patterns = true};
  const Background background{.value = *pattern};
  add_chain(algorithm,
            complement ? std::vector{background, inverse(background)} : std::vector{background});
  return algorithm;
}

}  // namespace

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names(others.begin(), others.end());
  for (const March& march : marches) names.emplace_back(march.name);
  return names;
}

Result<Algorithm> make_algorithm(const std::string& name, const AlgorithmOptions& options) {
  Algorithm algorithm{.name = name};
  const Background random{.kind = Background::Kind::random, .value = options.seed};
  const Background checkerboard{.kind = Background::Kind::checkerboard};
  const Background address{.kind = Background::Kind::address};
  const auto march =
      std::find_if(marches.begin(), marches.end(), [&](const March& m) { return m.name == name; });
  if (march != marches.end()) {
    const auto elements = parse_march(march->notation);
    if (!elements) return std::unexpected(elements.error());
    add_march(algorithm, *elements, std::clamp(options.backgrounds, 1U, most_backgrounds));
    algorithm.notation = march->notation;
  } else if (name == "walking-ones" || name == "walking-zeros") {
    add_chain(algorithm, walking(name == "walking-ones"));
    // All words alike: by the order alone it finds what is wrong with the decoder.
    for (Element& element : algorithm.elements) element.ordered = true;
    algorithm.fixed_patterns = true;
  } else if (name == "checkerboard") {
    add_chain(algorithm, {checkerboard, inverse(checkerboard)});
    algorithm.fixed_patterns = true;
  } else if (name == "address") {
    add_chain(algorithm, {address, inverse(address)});
  } else if (name == "random") {
    add_chain(algorithm, {random, inverse(random)});
  } else if (name == "modulo-20") {
    add_modulo_20(algorithm);
  } else if (name == "moving-inversions") {
    add_moving_inversions(algorithm, options.seed);
  } else if (name == "bit-fade") {
    add_bit_fade(algorithm);
  } else if (name == "block-move") {
    algorithm.block_move = true;
    algorithm.data = {random};
  } else if (name.starts_with("0x") || name.starts_with("0X")) {
    auto pattern = make_pattern(name);
    if (!pattern) return pattern;
    algorithm = std::move(*pattern);
  } else {
    return fail(ErrorKind::usage, fmt::format("no memory test \"{}\"", name.substr(0, 40)), {},
                "there are: a pattern such as 0xAAAAAAAA, " + all_names());
  }
  if (algorithm.notation.empty()) {
    algorithm.notation =
        algorithm.block_move ? "blocks copied about and compared" : to_notation(algorithm.elements);
  }
  return algorithm;
}

Result<std::vector<Element>> parse_march(std::string_view text) {
  const std::string whole(text);
  const auto bad = [&](const char* why) {
    return fail(ErrorKind::usage, fmt::format("\"{}\" is no March test: {}", whole, why));
  };
  const auto take = [&](std::string_view token) {
    if (!text.starts_with(token)) return false;
    text.remove_prefix(token.size());
    return true;
  };
  std::vector<Element> elements;
  do {
    Element element;
    const auto order =
        std::find_if(orders.begin(), orders.end(), [&](const auto& o) { return take(o.first); });
    if (order == orders.end()) return bad("an element begins with ⇕, ⇑ or ⇓");
    element.order = order->second;
    if (!take("(")) return bad("an order is followed by (");
    do {
      if (text.size() < 2 || (text[0] != 'r' && text[0] != 'w') ||
          (text[1] != '0' && text[1] != '1')) {
        return bad("an operation is r0, r1, w0 or w1");
      }
      const std::size_t data = text[1] == '1' ? 1 : 0;
      element.operations.push_back(text[0] == 'w' ? write(data) : read(data));
      text.remove_prefix(2);
    } while (take(","));
    if (element.operations.size() > max_operations) return bad("more than 8 operations");
    if (!take(")")) return bad("operations end with )");
    elements.push_back(std::move(element));
  } while (take(";"));
  if (!text.empty()) return bad("elements are separated by ;");
  return elements;
}

std::string to_notation(const std::vector<Element>& elements) {
  std::string text;
  // A long list says the same over and over.
  constexpr std::size_t most = 12;
  for (std::size_t i = 0; i < std::min(elements.size(), most); ++i) {
    const Element& element = elements[i];
    if (!text.empty()) text += ";";
    if (element.hold) text += "hold;";
    text += std::find_if(orders.begin(), orders.end(), [&](const auto& o) {
              return o.second == element.order;
            })->first;
    std::string operations;
    for (const Operation& op : element.operations) {
      operations +=
          fmt::format("{}{}{}{}", operations.empty() ? "" : ",", op.write ? "w" : "r", op.data,
                      op.select == Select::all      ? ""
                      : op.select == Select::chosen ? " each 20th"
                                                    : " others");
    }
    text += "(" + operations + ")";
  }
  if (elements.size() > most) text += fmt::format("; ... {} elements", elements.size());
  return text;
}

std::string element_text(const Algorithm& algorithm, std::size_t index) {
  Element element = algorithm.elements[index];
  if (algorithm.backgrounds == 0) return to_notation({element});
  const Background& background = algorithm.data[element.operations[0].data / 2U * 2U];
  for (Operation& op : element.operations) op.data %= 2;
  std::string text = to_notation({std::move(element)});
  if (algorithm.backgrounds > 1) {
    text += background.inverted_words == 0
                ? fmt::format(" on {:#018x}", background.value)
                : fmt::format(" on 0 and ~0, {} bytes of each in turn",
                              background.inverted_words * sizeof background.value);
  }
  return text;
}

bool cache_hides_some(const Element& element) {
  const auto& ops = element.operations;
  return std::adjacent_find(ops.begin(), ops.end(), cache_hides<Operation>) != ops.end();
}

std::string what_is_missed(const std::vector<Algorithm>& tests) {
  std::uint64_t ones = 0;
  std::uint64_t zeros = 0;
  for (const Algorithm& test : tests) {
    if (!test.fixed_patterns) return {};
    for (const Background& data : test.data) {
      ones |= word_of(data, 0, 0);
      zeros |= ~word_of(data, 0, 0);
    }
  }
  if ((ones & zeros) != ~std::uint64_t{0}) {
    return "a bit that is always written alike is found when it is stuck at the other value only: "
           "with one fixed pattern half of all stuck bits; no transition fault and few of the "
           "address and coupling faults: add march-c-";
  }
  return "fixed patterns alone find stuck bits, but not all transition faults, and of idempotent "
         "coupling half at most: add march-c-";
}

const char* to_text(Flush flush) {
  switch (flush) {
    case Flush::automatic:
      return "auto";
    case Flush::none:
      return "none";
    case Flush::stream:
      return "stream";
    case Flush::batch:
      return "batch";
    case Flush::line:
      return "line";
  }
  return "";
}

Flush flush_of(const Element& element, Flush policy) {
  const Flush without_hidden = element.ordered ? Flush::stream : Flush::none;
  switch (policy) {
    case Flush::automatic:
      return cache_hides_some(element) ? Flush::batch : without_hidden;
    case Flush::batch:
      return cache_hides_some(element) ? Flush::batch : Flush::stream;
    case Flush::none:
    case Flush::stream:
    case Flush::line:
      return policy;
  }
  return policy;
}

}  // namespace assay::probes
