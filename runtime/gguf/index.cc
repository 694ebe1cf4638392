#include "runtime/gguf/index.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "base/utf8.h"
#include "runtime/gguf/cursor.h"

namespace assay::runtime::gguf {
namespace {

constexpr std::uint32_t magic = 0x4655'4747;  // "GGUF"
// An entry is at least an empty key, a type and one byte; a tensor an empty name, one dimension,
// type and offset. More of them than fit is a wrong count, and no memory is taken for it.
constexpr std::uint64_t least_entry_bytes = 8 + 4 + 1;
constexpr std::uint64_t least_tensor_bytes = 8 + 4 + 8 + 4 + 8;
constexpr std::uint64_t most_key_bytes = 65'535;
constexpr std::uint64_t most_name_bytes = 64;
constexpr std::uint64_t most_alignment = 1 << 20;
// Keeps each product of sizes within 64 bits.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 60;

std::unexpected<Error> bad(std::string what) {
  return fail(ErrorKind::bad_file, std::move(what));
}

bool is_plain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

Result<std::string_view> parse_name(Cursor& cursor, std::uint64_t most_bytes,
                                    const std::string& what) {
  const auto name = cursor.take_text(what);
  if (!name) return std::unexpected(name.error());
  if (name->size() > most_bytes || !is_plain(*name)) {
    return bad(fmt::format("{} is no name: \"{}\"", what, to_printable(name->substr(0, 40))));
  }
  return *name;
}

Result<ValueType> parse_type(Cursor& cursor, std::string_view key) {
  const auto number = cursor.take<std::uint32_t>(key);
  if (!number) return std::unexpected(number.error());
  if (*number > static_cast<std::uint32_t>(ValueType::float64)) {
    return bad(fmt::format("{} is of an unknown type, {}", key, *number));
  }
  return static_cast<ValueType>(*number);
}

// The bytes of `count` values that follow each other.
Result<std::span<const std::byte>> parse_values(Cursor& cursor, ValueType type, std::uint64_t count,
                                                std::string_view key) {
  const std::size_t start = cursor.at();
  if (type == ValueType::string) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (auto text = cursor.take_text(key); !text) return std::unexpected(text.error());
    }
    return cursor.since(start);
  }
  const std::uint64_t size = size_of(type);
  if (count > cursor.left() / size) return cursor.cut_off(key);
  const auto bytes = cursor.take_bytes(count * size, key);
  if (!bytes) return std::unexpected(bytes.error());
  if (type == ValueType::boolean &&
      std::ranges::any_of(*bytes, [](std::byte b) { return b > std::byte{1}; })) {
    return bad(fmt::format("{} is neither true nor false", key));
  }
  return *bytes;
}

Result<Entry> parse_entry(Cursor& cursor, std::uint64_t number) {
  const auto key = parse_name(cursor, most_key_bytes, fmt::format("the key of entry {}", number));
  if (!key) return std::unexpected(key.error());
  auto type = parse_type(cursor, *key);
  if (!type) return std::unexpected(type.error());
  Value value;
  if (*type == ValueType::array) {
    type = parse_type(cursor, *key);
    if (!type) return std::unexpected(type.error());
    if (*type == ValueType::array) return bad(fmt::format("{} is an array of arrays", *key));
    const auto count = cursor.take<std::uint64_t>(*key);
    if (!count) return std::unexpected(count.error());
    value.count = *count;
  }
  value.type = *type;
  const auto bytes = parse_values(cursor, value.type, value.count.value_or(1), *key);
  if (!bytes) return std::unexpected(bytes.error());
  value.bytes = *bytes;
  return Entry{*key, value};
}

std::string types_that_are_read() {
  std::string all;
  for (std::uint32_t number = 0; number < 64; ++number) {
    if (gguf_type(number)) all += (all.empty() ? "" : ", ") + std::string(gguf_type_name(number));
  }
  return all;
}

Result<GgufType> parse_tensor_type(Cursor& cursor, std::string_view name) {
  const auto number = cursor.take<std::uint32_t>(name);
  if (!number) return std::unexpected(number.error());
  if (const auto type = gguf_type(*number)) return *type;
  const std::string_view known = gguf_type_name(*number);
  return fail(ErrorKind::bad_file,
              known.empty() ? fmt::format("{} is of an unknown type, {}", name, *number)
                            : fmt::format("{} is of type {}, which is not read", name, known),
              {}, "types that are read: " + types_that_are_read());
}

// `offset` stays what the file says: from the first tensor's place on.
Result<Tensor> parse_tensor(Cursor& cursor, std::uint64_t number) {
  const auto name =
      parse_name(cursor, most_name_bytes, fmt::format("the name of tensor {}", number));
  if (!name) return std::unexpected(name.error());
  Tensor tensor;
  tensor.name = *name;
  const auto dim_count = cursor.take<std::uint32_t>(*name);
  if (!dim_count) return std::unexpected(dim_count.error());
  if (*dim_count == 0 || *dim_count > tensor.dims.size()) {
    return bad(fmt::format("{} has {} dimensions, and 1 to 4 are possible", *name, *dim_count));
  }
  tensor.dim_count = *dim_count;
  std::uint64_t room = most_elements;
  for (std::uint32_t i = 0; i < tensor.dim_count; ++i) {
    const auto dim = cursor.take<std::uint64_t>(*name);
    if (!dim) return std::unexpected(dim.error());
    if (*dim == 0 || *dim > room) {
      return bad(fmt::format("{} is said to have {} elements along dimension {}", *name, *dim, i));
    }
    room /= *dim;
    tensor.dims[i] = *dim;
  }
  const auto type = parse_tensor_type(cursor, *name);
  if (!type) return std::unexpected(type.error());
  tensor.type = *type;
  const GgufBlock block = block_of(tensor.type);
  if (tensor.dims[0] % block.elements != 0) {
    return bad(fmt::format("{} has rows of {} elements, and {} are a block of {}", *name,
                           tensor.dims[0], block.elements, block.name));
  }
  tensor.bytes = tensor.elements() / block.elements * block.bytes;
  const auto offset = cursor.take<std::uint64_t>(*name);
  if (!offset) return std::unexpected(offset.error());
  tensor.offset = *offset;
  return tensor;
}

Result<std::uint64_t> parse_count(Cursor& cursor, std::uint64_t least_bytes,
                                  const std::string& what) {
  const auto count = cursor.take<std::uint64_t>(what);
  if (!count) return std::unexpected(count.error());
  if (*count > cursor.left() / least_bytes) {
    return bad(fmt::format("{} is {}, and {} bytes follow", what, *count, cursor.left()));
  }
  return *count;
}

Result<std::uint32_t> parse_version(Cursor& cursor) {
  const auto found = cursor.take<std::uint32_t>("the magic number");
  if (!found || *found != magic) return bad("not a GGUF file: it does not begin with \"GGUF\"");
  const auto version = cursor.take<std::uint32_t>("the version");
  if (!version) return std::unexpected(version.error());
  if (*version == 2 || *version == 3) return *version;
  if (*version != 0 && std::byteswap(*version) <= 3) {
    return bad("a big-endian GGUF file; little endian is read");
  }
  return bad(fmt::format("GGUF version {}; 2 and 3 are read", *version));
}

Result<std::uint64_t> alignment_of(const Index& index) {
  const Value* value = index.find("general.alignment");
  if (value == nullptr) return index.alignment();
  const auto alignment = value->unsigned_integer();
  if (!alignment || *alignment < 8 || *alignment > most_alignment ||
      !std::has_single_bit(*alignment)) {
    return bad(fmt::format("general.alignment is {}, and not a power of two from 8 to {}",
                           value->shown(), most_alignment));
  }
  return *alignment;
}

// `numbers` becomes the order of `names`; an error when two are the same.
template <class NameOf>
Result<> sort_by_name(std::vector<std::uint32_t>& numbers, std::size_t count, NameOf text_of) {
  numbers.resize(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::ranges::sort(numbers, {}, text_of);
  const auto twice = std::ranges::adjacent_find(numbers, {}, text_of);
  if (twice != numbers.end()) return bad(fmt::format("{} is there twice", text_of(*twice)));
  return {};
}

// Makes offsets the file's own, and holds them against its size and each other.
Result<> place(std::vector<Tensor>& tensors, std::uint64_t index_bytes, std::uint64_t alignment,
               std::uint64_t file_bytes) {
  if (tensors.empty()) return {};
  const std::uint64_t data = (index_bytes + alignment - 1) / alignment * alignment;
  if (data > file_bytes) return bad("the file ends in front of its tensors");
  std::vector<const Tensor*> by_offset;
  by_offset.reserve(tensors.size());
  for (Tensor& tensor : tensors) {
    const std::uint64_t room = file_bytes - data;
    if (tensor.offset % alignment != 0) {
      return bad(fmt::format("{} is said to lie at byte {}, and the alignment is {}", tensor.name,
                             tensor.offset, alignment));
    }
    if (tensor.offset > room || tensor.bytes > room - tensor.offset) {
      return bad(fmt::format("{} is said to lie at byte {} with {} bytes, and {} bytes are there",
                             tensor.name, tensor.offset, tensor.bytes, room));
    }
    tensor.offset += data;
    by_offset.push_back(&tensor);
  }
  std::ranges::sort(by_offset, {}, [](const Tensor* tensor) { return tensor->offset; });
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const Tensor& before = *by_offset[i - 1];
    if (before.offset + before.bytes > by_offset[i]->offset) {
      return bad(fmt::format("{} and {} overlap", before.name, by_offset[i]->name));
    }
  }
  return {};
}

}  // namespace

Result<Index> parse_index(std::span<const std::byte> file) {
  Cursor cursor(file);
  Index index;
  const auto version = parse_version(cursor);
  if (!version) return std::unexpected(version.error());
  index.version_ = *version;
  const auto tensor_count = parse_count(cursor, least_tensor_bytes, "the number of tensors");
  if (!tensor_count) return std::unexpected(tensor_count.error());
  const auto entry_count = parse_count(cursor, least_entry_bytes, "the number of metadata entries");
  if (!entry_count) return std::unexpected(entry_count.error());
  for (std::uint64_t i = 0; i < *entry_count; ++i) {
    const auto entry = parse_entry(cursor, i);
    if (!entry) return std::unexpected(entry.error());
    index.metadata_.push_back(*entry);
  }
  const auto key_of = [&index](std::uint32_t i) { return index.metadata_[i].key; };
  if (auto sorted = sort_by_name(index.keys_, index.metadata_.size(), key_of); !sorted) {
    return std::unexpected(sorted.error());
  }
  const auto alignment = alignment_of(index);
  if (!alignment) return std::unexpected(alignment.error());
  index.alignment_ = *alignment;
  for (std::uint64_t i = 0; i < *tensor_count; ++i) {
    const auto tensor = parse_tensor(cursor, i);
    if (!tensor) return std::unexpected(tensor.error());
    index.tensors_.push_back(*tensor);
  }
  const auto name_of_tensor = [&index](std::uint32_t i) { return index.tensors_[i].name; };
  if (auto sorted = sort_by_name(index.names_, index.tensors_.size(), name_of_tensor); !sorted) {
    return std::unexpected(sorted.error());
  }
  if (auto placed = place(index.tensors_, cursor.at(), index.alignment_, file.size()); !placed) {
    return std::unexpected(placed.error());
  }
  return index;
}

const Value* Index::find(std::string_view key) const {
  const auto key_of = [this](std::uint32_t i) { return metadata_[i].key; };
  const auto at = std::ranges::lower_bound(keys_, key, {}, key_of);
  return at != keys_.end() && key_of(*at) == key ? &metadata_[*at].value : nullptr;
}

const Tensor* Index::tensor(std::string_view name) const {
  const auto name_of_tensor = [this](std::uint32_t i) { return tensors_[i].name; };
  const auto at = std::ranges::lower_bound(names_, name, {}, name_of_tensor);
  return at != names_.end() && name_of_tensor(*at) == name ? &tensors_[*at] : nullptr;
}

}  // namespace assay::runtime::gguf
