#include "runtime/gguf/writer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace assay::runtime::gguf {
namespace {

constexpr std::uint64_t file_alignment = 32;

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + file_alignment - 1) / file_alignment * file_alignment;
}

template <class T>
void append(std::string& out, T value) {
  std::array<char, sizeof value> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  out.append(bytes.data(), bytes.size());
}

void append_text(std::string& out, std::string_view text) {
  append(out, std::uint64_t{text.size()});
  out += text;
}

std::string index_of(const Metadata& metadata, std::span<const NewTensor> tensors) {
  std::string index = "GGUF";
  append(index, std::uint32_t{3});
  append(index, std::uint64_t{tensors.size()});
  append(index, metadata.count());
  index += metadata.bytes();
  std::uint64_t offset = 0;
  for (const NewTensor& tensor : tensors) {
    append_text(index, tensor.name);
    append(index, static_cast<std::uint32_t>(tensor.dims.size()));
    for (const std::uint64_t dim : tensor.dims) append(index, dim);
    append(index, static_cast<std::uint32_t>(tensor.type));
    append(index, offset);
    offset += padded(tensor.bytes());
  }
  index.resize(padded(index.size()));
  return index;
}

}  // namespace

void Metadata::begin(std::string_view key, ValueType type) {
  append_text(bytes_, key);
  append(bytes_, static_cast<std::uint32_t>(type));
  ++count_;
}

void Metadata::begin_array(std::string_view key, ValueType type, std::uint64_t count) {
  begin(key, ValueType::array);
  append(bytes_, static_cast<std::uint32_t>(type));
  append(bytes_, count);
}

void Metadata::text(std::string_view key, std::string_view value) {
  begin(key, ValueType::string);
  append_text(bytes_, value);
}

void Metadata::whole(std::string_view key, std::uint32_t value) {
  begin(key, ValueType::uint32);
  append(bytes_, value);
}

void Metadata::real(std::string_view key, float value) {
  begin(key, ValueType::float32);
  append(bytes_, value);
}

void Metadata::boolean(std::string_view key, bool value) {
  begin(key, ValueType::boolean);
  append(bytes_, std::uint8_t{value});
}

void Metadata::texts(std::string_view key, std::span<const std::string> values) {
  begin_array(key, ValueType::string, values.size());
  for (const std::string& value : values) append_text(bytes_, value);
}

void Metadata::reals(std::string_view key, std::span<const float> values) {
  begin_array(key, ValueType::float32, values.size());
  for (const float value : values) append(bytes_, value);
}

void Metadata::integers(std::string_view key, std::span<const std::int32_t> values) {
  begin_array(key, ValueType::int32, values.size());
  for (const std::int32_t value : values) append(bytes_, value);
}

std::uint64_t NewTensor::bytes() const {
  std::uint64_t elements = 1;
  for (const std::uint64_t dim : dims) elements *= dim;
  const GgufBlock block = block_of(type);
  return elements / block.elements * block.bytes;
}

std::uint64_t file_bytes(const Metadata& metadata, std::span<const NewTensor> tensors) {
  std::uint64_t bytes = index_of(metadata, tensors).size();
  for (const NewTensor& tensor : tensors) bytes += padded(tensor.bytes());
  return bytes;
}

Writer::Writer(AtomicOutput output, std::vector<std::uint64_t> sizes)
    : output_(std::move(output)), sizes_(std::move(sizes)) {
  for (const std::uint64_t size : sizes_) data_bytes_ += size;
}

Result<Writer> Writer::create(const std::string& path, const Metadata& metadata,
                              std::span<const NewTensor> tensors) {
  auto output = AtomicOutput::create(path);
  if (!output) return std::unexpected(output.error());
  const std::string index = index_of(metadata, tensors);
  if (auto written = output->write(std::as_bytes(std::span(index))); !written) {
    return std::unexpected(written.error());
  }
  std::vector<std::uint64_t> sizes;
  sizes.reserve(tensors.size());
  for (const NewTensor& tensor : tensors) sizes.push_back(tensor.bytes());
  return Writer(std::move(*output), std::move(sizes));
}

Result<> Writer::pad() {
  constexpr std::array<std::byte, file_alignment> zeros{};
  const std::uint64_t size = sizes_[current_];
  ++current_;
  written_ = 0;
  return output_.write(std::span(zeros).first(padded(size) - size));
}

Result<> Writer::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (current_ == sizes_.size()) {
      return fail(ErrorKind::usage, "more bytes than the tensors of this file have");
    }
    const std::uint64_t taken = std::min(bytes.size(), sizes_[current_] - written_);
    if (auto done = output_.write(bytes.first(taken)); !done) return done;
    bytes = bytes.subspan(taken);
    written_ += taken;
    if (written_ != sizes_[current_]) continue;
    if (auto done = pad(); !done) return done;
  }
  return {};
}

Result<> Writer::commit() {
  if (current_ != sizes_.size()) {
    return fail(ErrorKind::usage, "fewer bytes than the tensors of this file have");
  }
  return output_.commit();
}

}  // namespace assay::runtime::gguf
