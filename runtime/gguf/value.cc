#include "runtime/gguf/value.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "base/utf8.h"

namespace assay::runtime::gguf {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

struct Integer {
  bool negative = false;
  std::uint64_t bits = 0;  // two's complement, 64 wide
};

template <class T>
Integer signed_at(const std::byte* at) {
  const auto value = static_cast<std::int64_t>(load<T>(at));
  return {value < 0, static_cast<std::uint64_t>(value)};
}

std::optional<Integer> integer_at(ValueType type, const std::byte* at) {
  switch (type) {
    case ValueType::uint8:
      return Integer{false, load<std::uint8_t>(at)};
    case ValueType::uint16:
      return Integer{false, load<std::uint16_t>(at)};
    case ValueType::uint32:
      return Integer{false, load<std::uint32_t>(at)};
    case ValueType::uint64:
      return Integer{false, load<std::uint64_t>(at)};
    case ValueType::int8:
      return signed_at<std::int8_t>(at);
    case ValueType::int16:
      return signed_at<std::int16_t>(at);
    case ValueType::int32:
      return signed_at<std::int32_t>(at);
    case ValueType::int64:
      return signed_at<std::int64_t>(at);
    default:
      return std::nullopt;
  }
}

std::optional<double> number_at(ValueType type, const std::byte* at) {
  if (type == ValueType::float32) return load<float>(at);
  if (type == ValueType::float64) return load<double>(at);
  const auto integer = integer_at(type, at);
  if (!integer) return std::nullopt;
  return integer->negative ? static_cast<double>(static_cast<std::int64_t>(integer->bits))
                           : static_cast<double>(integer->bits);
}

// A string is its length in bytes and then those, without a terminator.
std::string_view text_at(const std::byte* at) {
  return {reinterpret_cast<const char*>(at) + 8, load<std::uint64_t>(at)};
}

constexpr std::size_t most_shown = 60;

}  // namespace

std::string_view name_of(ValueType type) {
  switch (type) {
    case ValueType::uint8:
      return "uint8";
    case ValueType::int8:
      return "int8";
    case ValueType::uint16:
      return "uint16";
    case ValueType::int16:
      return "int16";
    case ValueType::uint32:
      return "uint32";
    case ValueType::int32:
      return "int32";
    case ValueType::float32:
      return "float32";
    case ValueType::boolean:
      return "boolean";
    case ValueType::string:
      return "string";
    case ValueType::array:
      return "array";
    case ValueType::uint64:
      return "uint64";
    case ValueType::int64:
      return "int64";
    case ValueType::float64:
      return "float64";
  }
  std::unreachable();
}

std::size_t size_of(ValueType type) {
  switch (type) {
    case ValueType::uint8:
    case ValueType::int8:
    case ValueType::boolean:
      return 1;
    case ValueType::uint16:
    case ValueType::int16:
      return 2;
    case ValueType::uint32:
    case ValueType::int32:
    case ValueType::float32:
      return 4;
    case ValueType::uint64:
    case ValueType::int64:
    case ValueType::float64:
      return 8;
    case ValueType::string:
    case ValueType::array:
      return 0;
  }
  std::unreachable();
}

std::optional<std::uint64_t> Value::unsigned_integer() const {
  if (count) return std::nullopt;
  const auto integer = integer_at(type, bytes.data());
  if (!integer || integer->negative) return std::nullopt;
  return integer->bits;
}

std::optional<double> Value::number() const {
  if (count) return std::nullopt;
  return number_at(type, bytes.data());
}

std::optional<bool> Value::boolean() const {
  if (count || type != ValueType::boolean) return std::nullopt;
  return bytes[0] != std::byte{0};
}

std::optional<std::string_view> Value::text() const {
  if (count || type != ValueType::string) return std::nullopt;
  return text_at(bytes.data());
}

std::optional<std::vector<std::string_view>> Value::texts() const {
  if (!count || type != ValueType::string) return std::nullopt;
  std::vector<std::string_view> all;
  all.reserve(*count);
  const std::byte* at = bytes.data();
  for (std::uint64_t i = 0; i < *count; ++i) {
    all.push_back(text_at(at));
    at += 8 + all.back().size();
  }
  return all;
}

std::optional<std::vector<double>> Value::numbers() const {
  if (!count || type == ValueType::string || type == ValueType::boolean) return std::nullopt;
  std::vector<double> all;
  all.reserve(*count);
  for (std::uint64_t i = 0; i < *count; ++i) {
    all.push_back(*number_at(type, bytes.data() + i * size_of(type)));
  }
  return all;
}

std::string Value::shown() const {
  if (count) return fmt::format("{} {}{}", *count, name_of(type), *count == 1 ? "" : "s");
  if (const auto truth = boolean()) return *truth ? "true" : "false";
  if (const auto string = text()) {
    const bool is_short = string->size() <= most_shown;
    const std::string start = to_printable(string->substr(0, most_shown));
    return is_short ? fmt::format("\"{}\"", start)
                    : fmt::format("\"{}\"... ({} bytes)", start, string->size());
  }
  if (type == ValueType::float32) return fmt::format("{}", load<float>(bytes.data()));
  if (type == ValueType::float64) return fmt::format("{}", load<double>(bytes.data()));
  const auto integer = integer_at(type, bytes.data());
  return integer->negative ? fmt::format("{}", static_cast<std::int64_t>(integer->bits))
                           : fmt::format("{}", integer->bits);
}

}  // namespace assay::runtime::gguf
