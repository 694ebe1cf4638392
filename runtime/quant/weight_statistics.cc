#include "runtime/quant/weight_statistics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <vector>

#include "runtime/quant/unpack.h"

namespace assay::runtime {
namespace {

// Weights that are unpacked at once: whole blocks of every type.
constexpr std::size_t unpacked_weights = 4096;
// Pieces are of one size, so that sums are made in one order.
constexpr std::size_t piece_weights = std::size_t{1} << 20;

struct Sums {
  std::uint64_t not_finite = 0;
  std::uint64_t zeros = 0;
  std::uint64_t finite = 0;
  double squares = 0;
  float least = 0;
  float most = 0;

  void add(std::span<const float> weights) {
    for (const float weight : weights) {
      if (!std::isfinite(weight)) {
        ++not_finite;
        continue;
      }
      if (weight == 0) ++zeros;
      squares += static_cast<double>(weight) * static_cast<double>(weight);
      least = finite == 0 ? weight : std::min(least, weight);
      most = finite == 0 ? weight : std::max(most, weight);
      ++finite;
    }
  }
  void add(const Sums& other) {
    if (other.finite > 0) {
      least = finite == 0 ? other.least : std::min(least, other.least);
      most = finite == 0 ? other.most : std::max(most, other.most);
    }
    not_finite += other.not_finite;
    zeros += other.zeros;
    finite += other.finite;
    squares += other.squares;
  }
};

Sums sums_of(GgufType type, std::span<const std::byte> blocks) {
  const GgufBlock block = block_of(type);
  const std::size_t bytes_at_once = unpacked_weights / block.elements * block.bytes;
  std::array<float, unpacked_weights> weights;
  Sums sums;
  while (!blocks.empty()) {
    const auto some = blocks.first(std::min(bytes_at_once, blocks.size()));
    const auto unpacked = std::span(weights).first(some.size() / block.bytes * block.elements);
    unpack(type, some, unpacked);
    sums.add(unpacked);
    blocks = blocks.subspan(some.size());
  }
  return sums;
}

}  // namespace

Result<WeightStatistics> weight_statistics(GgufType type, std::span<const std::byte> blocks,
                                           WorkerPool& pool, const CancelToken& cancel) {
  const GgufBlock block = block_of(type);
  const std::size_t piece_bytes = piece_weights / block.elements * block.bytes;
  std::vector<Sums> pieces((blocks.size() + piece_bytes - 1) / piece_bytes);
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  pool.run([&](unsigned) {
    while (!cancel.cancelled()) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= pieces.size()) return;
      const auto rest = blocks.subspan(i * piece_bytes);
      pieces[i] = sums_of(type, rest.first(std::min(piece_bytes, rest.size())));
      done.fetch_add(1, std::memory_order_relaxed);
    }
  });
  if (done.load() != pieces.size()) {
    return fail(ErrorKind::cancelled, "reading the weights was cancelled");
  }
  Sums all;
  for (const Sums& piece : pieces) all.add(piece);
  const double mean_square = all.finite == 0 ? 0 : all.squares / static_cast<double>(all.finite);
  return WeightStatistics{.count = all.finite + all.not_finite,
                          .not_finite = all.not_finite,
                          .zeros = all.zeros,
                          .rms = std::sqrt(mean_square),
                          .least = all.least,
                          .most = all.most};
}

}  // namespace assay::runtime
