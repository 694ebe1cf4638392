// Writes a GGUF file (version 3) from front to back: its index first, then the tensors as they are
// made, so that a model may be larger than memory. It appears whole, or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_output.h"
#include "base/result.h"
#include "runtime/gguf/gguf_type.h"
#include "runtime/gguf/value.h"

namespace assay::runtime::gguf {

// Entries as they stand in a file. The caller gives each key once.
class Metadata {
 public:
  void text(std::string_view key, std::string_view value);
  void whole(std::string_view key, std::uint32_t value);
  void real(std::string_view key, float value);
  void boolean(std::string_view key, bool value);
  void texts(std::string_view key, std::span<const std::string> values);
  void reals(std::string_view key, std::span<const float> values);
  void integers(std::string_view key, std::span<const std::int32_t> values);

  std::uint64_t count() const { return count_; }
  std::string_view bytes() const { return bytes_; }

 private:
  void begin(std::string_view key, ValueType type);
  void begin_array(std::string_view key, ValueType type, std::uint64_t count);

  std::string bytes_;
  std::uint64_t count_ = 0;
};

struct NewTensor {
  std::string name;
  GgufType type = GgufType::f32;
  std::vector<std::uint64_t> dims;  // 1 to 4, columns first; columns a multiple of the type's block

  std::uint64_t bytes() const;
};

// Bytes of a file of these, its padding counted in.
std::uint64_t file_bytes(const Metadata& metadata, std::span<const NewTensor> tensors);

// Used by one thread. Errors are AtomicOutput's.
class Writer {
 public:
  // Alignment is the specification's default, 32.
  static Result<Writer> create(const std::string& path, const Metadata& metadata,
                               std::span<const NewTensor> tensors);

  // The bytes of the tensors in the order of create(), in pieces of any size. Past the last is a
  // mistake of the caller's, and ErrorKind::usage.
  Result<> write(std::span<const std::byte> bytes);

  // Once, as the last call; ErrorKind::usage when bytes are missing.
  Result<> commit();

  // Of all tensors, without padding.
  std::uint64_t data_bytes() const { return data_bytes_; }

 private:
  Writer(AtomicOutput output, std::vector<std::uint64_t> sizes);
  Result<> pad();

  AtomicOutput output_;
  std::vector<std::uint64_t> sizes_;
  std::size_t current_ = 0;
  std::uint64_t written_ = 0;  // of the current tensor
  std::uint64_t data_bytes_ = 0;
};

}  // namespace assay::runtime::gguf
