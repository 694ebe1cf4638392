// Takes numbers and strings off the front of a GGUF file's bytes, and never reads past their end.
// Errors: bad_file; `what` is what was being read.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/result.h"

namespace assay::runtime::gguf {

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  std::span<const std::byte> since(std::size_t start) const {
    return bytes_.subspan(start, at_ - start);
  }

  template <class T>
  Result<T> take(std::string_view what) {
    const auto bytes = take_bytes(sizeof(T), what);
    if (!bytes) return std::unexpected(bytes.error());
    T value;
    std::memcpy(&value, bytes->data(), sizeof value);
    return value;
  }

  Result<std::span<const std::byte>> take_bytes(std::uint64_t count, std::string_view what) {
    if (count > left()) return cut_off(what);
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  // Its length, and then its bytes.
  Result<std::string_view> take_text(std::string_view what) {
    const auto length = take<std::uint64_t>(what);
    if (!length) return std::unexpected(length.error());
    const auto bytes = take_bytes(*length, what);
    if (!bytes) return std::unexpected(bytes.error());
    return std::string_view{reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  }

  std::unexpected<Error> cut_off(std::string_view what) const {
    return fail(ErrorKind::bad_file,
                fmt::format("cut off, or a wrong length: {} runs over the end of the file at byte "
                            "{}, from byte {} on",
                            what, bytes_.size(), at_));
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace assay::runtime::gguf
