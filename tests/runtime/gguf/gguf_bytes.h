// A GGUF file put together by hand, number by number as the specification has it, so that it can be
// wrong in any place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::test {

class GgufBytes {
 public:
  struct TensorRecord {
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint32_t type = 0;  // F32
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> offset;  // else behind the one before
  };

  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;  // of the tensors' places; the key is the test's to write
  std::optional<std::uint64_t> tensor_count;  // else as many as there are
  std::optional<std::uint64_t> entry_count;
  std::vector<TensorRecord> tensors;

  template <class T>
  void number(std::string_view key, std::uint32_t type, T value) {
    begin(key, type);
    put(entries_, value);
  }
  void u32(std::string_view key, std::uint32_t value) { number(key, 4, value); }
  void f32(std::string_view key, float value) { number(key, 6, value); }
  void text(std::string_view key, std::string_view value) {
    begin(key, 8);
    put_text(entries_, value);
  }
  void texts(std::string_view key, std::span<const std::string> values,
             std::optional<std::uint64_t> count = {}) {
    begin(key, 9);
    put(entries_, std::uint32_t{8});
    put(entries_, count.value_or(values.size()));
    for (const std::string& value : values) put_text(entries_, value);
  }
  template <class T>
  void numbers(std::string_view key, std::uint32_t type, std::span<const T> values,
               std::optional<std::uint64_t> count = {}) {
    begin(key, 9);
    put(entries_, type);
    put(entries_, count.value_or(values.size()));
    for (const T value : values) put(entries_, value);
  }
  // Key, type, and then nothing: `raw` follows as it is.
  void raw(std::string_view key, std::uint32_t type, std::string_view bytes) {
    begin(key, type);
    entries_ += bytes;
  }

  // A matrix of F32, or a vector with one dimension.
  void f32_tensor(std::string name, std::vector<std::uint64_t> dims) {
    std::uint64_t elements = 1;
    for (const std::uint64_t dim : dims) elements *= dim;
    tensors.push_back({std::move(name), std::move(dims), 0, elements * 4, {}});
  }

  // The bytes of the tensors are 0, 1, 2, ...
  std::vector<std::byte> made() const {
    std::string file = magic;
    put(file, version);
    put(file, tensor_count.value_or(tensors.size()));
    put(file, entry_count.value_or(entries_made_));
    file += entries_;
    std::uint64_t data = 0;
    for (const TensorRecord& tensor : tensors) {
      put_text(file, tensor.name);
      put(file, static_cast<std::uint32_t>(tensor.dims.size()));
      for (const std::uint64_t dim : tensor.dims) put(file, dim);
      put(file, tensor.type);
      put(file, tensor.offset.value_or(data));
      data = (data + tensor.bytes + alignment - 1) / alignment * alignment;
    }
    if (!tensors.empty()) file.resize((file.size() + alignment - 1) / alignment * alignment);
    const std::size_t start = file.size();
    // The last one is not padded: a reader must not ask for that.
    if (!tensors.empty()) data -= (alignment - tensors.back().bytes % alignment) % alignment;
    for (std::uint64_t i = 0; i < data; ++i) file += static_cast<char>(i);
    std::vector<std::byte> bytes(start + data);
    std::memcpy(bytes.data(), file.data(), bytes.size());
    return bytes;
  }

 private:
  template <class T>
  static void put(std::string& out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
  }
  static void put_text(std::string& out, std::string_view text) {
    put(out, std::uint64_t{text.size()});
    out += text;
  }
  void begin(std::string_view key, std::uint32_t type) {
    put_text(entries_, key);
    put(entries_, type);
    ++entries_made_;
  }

  std::string entries_;
  std::uint64_t entries_made_ = 0;
};

}  // namespace assay::test
