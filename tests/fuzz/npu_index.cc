// runtime/compiled/npu_file.h: header and index of a compiled model.
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/compiled/npu_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/runtime/compiled/sound_index.h"

using assay::fuzz::require;
namespace npu = assay::runtime::npu;

namespace {

void require_told(const assay::Error& error) {
  require(error.kind == assay::ErrorKind::bad_file && !error.what.empty(), "an error says what");
  require(error.what.find('\n') == std::string::npos, "an error is one line");
}

void read(std::span<const std::byte> bytes, std::uint64_t file_bytes) {
  const auto header = bytes.first(npu::header_bytes);
  const auto place = npu::find_index(header, file_bytes);
  if (!place) return require_told(place.error());
  const auto rest = bytes.subspan(npu::header_bytes);
  if (place->bytes != rest.size()) return;
  const auto index = npu::parse_index(header, rest);
  if (!index) return require_told(index.error());
  const std::string broken = assay::test::broken_property(*index, place->offset);
  require(broken.empty(), broken.c_str());
  assay::fuzz::reached(std::to_string(index->chunks.size()) + " chunks, " +
                       std::to_string(index->tensors.size()) + " tensors");
}

}  // namespace

// The input is a header and the index, which in a file lies behind the chunks.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < npu::header_bytes) return 0;
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), data, size);
  std::uint64_t offset = 0;
  std::memcpy(&offset, data + 24, sizeof offset);
  const std::uint64_t index_bytes = size - npu::header_bytes;
  if (offset > std::numeric_limits<std::uint64_t>::max() - index_bytes) return 0;
  read(bytes, offset + index_bytes);
  // With the sizes and the checksum right, which no fuzzer guesses.
  const std::uint64_t file_bytes = offset + index_bytes;
  std::memcpy(bytes.data() + 32, &index_bytes, sizeof index_bytes);
  std::memcpy(bytes.data() + 40, &file_bytes, sizeof file_bytes);
  const std::uint64_t checksum = npu::checksum_of(std::span(bytes).first(npu::header_bytes),
                                                  std::span(bytes).subspan(npu::header_bytes));
  std::memcpy(bytes.data() + 64, &checksum, sizeof checksum);
  read(bytes, file_bytes);
  return 0;
}
