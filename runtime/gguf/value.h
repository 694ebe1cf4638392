// One metadata value of a GGUF file. It refers to the file's bytes, which must outlive it.
//
// Source: the GGUF specification (ggml, docs/gguf.md), "gguf_metadata_value_type".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::runtime::gguf {

// The values are the numbers that stand in a file.
enum class ValueType : std::uint32_t {
  uint8 = 0,
  int8 = 1,
  uint16 = 2,
  int16 = 3,
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  uint64 = 10,
  int64 = 11,
  float64 = 12,
};

// "uint8", "string".
std::string_view name_of(ValueType type);
// Bytes of a number or a boolean; 0 for strings and arrays, whose size varies.
std::size_t size_of(ValueType type);

struct Value {
  ValueType type = ValueType::uint8;   // of each element, where this is an array
  std::optional<std::uint64_t> count;  // elements; nothing for a value that is no array
  std::span<const std::byte> bytes;    // as they lie in the file; the parser checked them

  // Each is nothing when the value is of another type, does not fit, or is an array.
  std::optional<std::uint64_t> unsigned_integer() const;
  std::optional<double> number() const;  // integers too; may be NaN or infinite
  std::optional<bool> boolean() const;
  std::optional<std::string_view> text() const;

  // Each is nothing when this is no array of that type. Memory is taken in proportion to the bytes.
  std::optional<std::vector<std::string_view>> texts() const;
  std::optional<std::vector<double>> numbers() const;

  // For a person: "4096", "\"llama\"", "32000 strings". Safe to print, and short.
  std::string shown() const;
};

}  // namespace assay::runtime::gguf
