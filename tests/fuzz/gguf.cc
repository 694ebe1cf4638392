// runtime/gguf: index and model of a GGUF file.
#include <string>

#include "runtime/gguf/model.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;
namespace gguf = assay::runtime::gguf;

namespace {

bool told(const assay::Error& error) {
  return error.kind == assay::ErrorKind::bad_file && !error.what.empty() &&
         error.text().find('\n') == std::string::npos;
}

void hold(const gguf::Index& index, std::uint64_t file_bytes) {
  for (const gguf::Entry& entry : index.metadata()) {
    const gguf::Value& value = entry.value;
    require(index.find(entry.key) == &value, "each key is found");
    require(value.shown().size() < 400, "a value is shown in short");
    if (const auto texts = value.texts()) require(texts->size() == value.count, "all strings");
    if (const auto numbers = value.numbers())
      require(numbers->size() == value.count, "all numbers");
  }
  std::uint64_t bytes = 0;
  for (const gguf::Tensor& tensor : index.tensors()) {
    require(index.tensor(tensor.name) == &tensor, "each tensor is found");
    require(tensor.offset % index.alignment() == 0, "a tensor is aligned");
    require(tensor.bytes != 0 && tensor.bytes <= file_bytes - tensor.offset, "it lies in the file");
    bytes += tensor.bytes;
  }
  require(bytes <= file_bytes, "tensors do not overlap");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto index = gguf::parse_index({reinterpret_cast<const std::byte*>(data), size});
  if (!index) {
    require(told(index.error()), "an error is one line");
    return 0;
  }
  hold(*index, size);
  assay::fuzz::reached(std::to_string(index->tensors().size()) + " tensors");
  const auto model = gguf::read_model(*index);
  if (!model) {
    require(told(model.error()), "an error is one line");
    return 0;
  }
  require(assay::runtime::validate(model->shape).has_value(), "sizes are within their ranges");
  assay::fuzz::reached(std::string(model->architecture->name));
  return 0;
}
