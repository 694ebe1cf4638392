#include "runtime/model/weights.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/model/random_codes.h"

namespace assay::runtime {
namespace {

struct Patterns {
  CodePattern codes;
  CodePattern scales;
};

Patterns patterns_of(const TensorPlace& tensor) {
  switch (tensor.role) {
    case TensorRole::attention_norm:
    case TensorRole::ffn_norm:
    case TensorRole::final_norm:
      return {uniform(0.5F, 1.5F), {}};
    default:
      break;
  }
  // A row of the embedding enters the residual stream as it is.
  const float sigma = tensor.role == TensorRole::embedding
                          ? 1.0F
                          : 1.0F / std::sqrt(static_cast<float>(tensor.cols));
  const auto row_scales = [&](float code_rms) {
    return uniform(0.75F * sigma / code_rms, 1.25F * sigma / code_rms);
  };
  switch (tensor.type) {
    case TensorType::f32:
      return {random_f32(sigma), {}};
    case TensorType::f16:
      return {random_halves(sigma), {}};
    case TensorType::fp8_e4m3:
      return {random_fp8(), row_scales(rms_of_random_fp8())};
    case TensorType::int8:
      return {random_int8, row_scales(rms_of_random_int8)};
    case TensorType::int4:
      return {random_int4, random_half_scales(sigma / rms_of_random_int4)};
  }
  return {};
}

// A piece of one plane, small enough that cancelling is prompt and threads finish together.
struct Piece {
  std::byte* memory = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t counter = 0;  // of its first 8 bytes, from the plane's key on
  CodePattern pattern;
};

constexpr std::uint64_t piece_bytes = 1 << 20;

void fill(const Piece& piece) {
  std::uint64_t counter = piece.counter;
  const std::uint64_t whole = piece.bytes / 8 * 8;
  const auto run = [&](const CodePattern& pattern) {
    for (std::uint64_t at = 0; at < whole; at += 8) {
      counter += golden;
      const std::uint64_t word = pattern.word(mix(counter));
      std::memcpy(piece.memory + at, &word, 8);
    }
  };
  run(piece.pattern);
  if (whole == piece.bytes) return;
  const std::uint64_t word = piece.pattern.word(mix(counter + golden));
  std::memcpy(piece.memory + whole, &word, piece.bytes - whole);
}

void cut(std::byte* plane, std::uint64_t bytes, std::uint64_t key, const CodePattern& pattern,
         std::vector<Piece>& pieces) {
  for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
    pieces.push_back(
        {plane + at, std::min(piece_bytes, bytes - at), key + at / 8 * golden, pattern});
  }
}

}  // namespace

Result<> fill_weights(const Layout& layout, std::span<const std::span<std::byte>> memory,
                      std::uint64_t seed, WorkerPool& pool, const CancelToken& cancel,
                      const FillProgress& progress) {
  std::vector<Piece> pieces;
  std::uint64_t plane = 0;
  for (const TensorPlace& tensor : layout.tensors) {
    const std::uint64_t codes_key = mix(mix(seed) + ++plane * golden);
    const std::uint64_t scales_key = mix(mix(seed) + ++plane * golden);
    if (!layout.computed(tensor)) continue;
    const Patterns patterns = patterns_of(tensor);
    std::byte* start = memory[tensor.mapping].data() + tensor.offset;
    cut(start, tensor.bytes.codes, codes_key, patterns.codes, pieces);
    cut(start + tensor.bytes.scales_offset, tensor.bytes.scales, scales_key, patterns.scales,
        pieces);
  }
  const std::uint64_t total = layout.computed_bytes();
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> done{0};
  pool.run([&](unsigned worker) {
    while (!cancel.cancelled()) {
      const std::size_t taken = next.fetch_add(1, std::memory_order_relaxed);
      if (taken >= pieces.size()) return;
      fill(pieces[taken]);
      done.fetch_add(pieces[taken].bytes, std::memory_order_relaxed);
      if (worker == 0 && progress) progress(done.load(std::memory_order_relaxed), total);
    }
  });
  if (done.load() != total) return fail(ErrorKind::cancelled, "filling the weights was cancelled");
  if (progress) progress(total, total);
  return {};
}

}  // namespace assay::runtime
