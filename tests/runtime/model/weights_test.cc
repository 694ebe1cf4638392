#include "runtime/model/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/device/host_device.h"
#include "runtime/model/load.h"
#include "tests/runtime/reference.h"

namespace assay::runtime {
namespace {

struct Memory {
  explicit Memory(const Layout& layout) {
    for (const MappingRequest& request : layout.mappings) {
      owned.emplace_back(request.bytes / sizeof(Line) + 1);
      spans.push_back(std::as_writable_bytes(std::span(owned.back())).first(request.bytes));
    }
  }
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<std::vector<Line>> owned;
  std::vector<std::span<std::byte>> spans;
};

Layout layout_with_layers(const char* shape, const char* precision, std::uint32_t layers) {
  return plan_layout(find_shape(shape).value(), find_precision(precision).value(), layers, 1 << 30)
      .value();
}

bool same(const Memory& a, const Memory& b) {
  for (std::size_t i = 0; i < a.spans.size(); ++i) {
    if (!std::ranges::equal(a.spans[i], b.spans[i])) return false;
  }
  return true;
}

TEST(Weights, sameBytesForAnyNumberOfThreads) {
  const Layout layout = layout_with_layers("moe-small", "mixed-fp8", 3);
  const CancelToken cancel;
  Memory first(layout), other(layout), third(layout), seed2(layout);
  WorkerPool one(1), two(2), three(3);
  ASSERT_TRUE(fill_weights(layout, first.spans, 1, one, cancel, {}));
  ASSERT_TRUE(fill_weights(layout, other.spans, 1, two, cancel, {}));
  ASSERT_TRUE(fill_weights(layout, third.spans, 1, three, cancel, {}));
  ASSERT_TRUE(fill_weights(layout, seed2.spans, 2, one, cancel, {}));
  EXPECT_TRUE(same(first, other));
  EXPECT_TRUE(same(first, third));
  EXPECT_FALSE(same(first, seed2));
}

TEST(Weights, leavesTheLayersThatAreNotComputedUntouched) {
  const Layout layout = layout_with_layers("dense-small", "f16", 2);
  Memory memory(layout);
  WorkerPool pool(1);
  std::uint64_t last = 0;
  ASSERT_TRUE(fill_weights(layout, memory.spans, 1, pool, CancelToken{},
                           [&](std::uint64_t done, std::uint64_t total) {
                             EXPECT_GE(done, last);
                             EXPECT_LE(done, total);
                             EXPECT_EQ(total, layout.computed_bytes());
                             last = done;
                           }));
  EXPECT_EQ(last, layout.computed_bytes());
  for (const TensorPlace& tensor : layout.tensors) {
    const auto bytes = memory.spans[tensor.mapping].subspan(tensor.offset, tensor.bytes.total);
    const bool zero = std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
    EXPECT_EQ(zero, !layout.computed(tensor));
  }
}

TEST(Weights, haveMeanZeroAndAVarianceThatKeepsActivationsInSize) {
  for (const std::string& precision : precision_names()) {
    HostDevice device;
    WorkerPool pool(2);
    const auto model = load(device, layout_with_layers("dense-small", precision.c_str(), 1), 7,
                            pool, CancelToken{}, {});
    ASSERT_TRUE(model);
    const LayerWeights& layer = model->weights().layers[0];
    for (const Matrix* m : {&layer.query, &layer.blocks[0].gate, &layer.blocks[0].down,
                            &model->weights().embedding, &model->weights().head}) {
      double sum = 0;
      double squares = 0;
      for (std::size_t r = 0; r < m->rows; ++r) {
        for (std::size_t c = 0; c < m->cols; ++c) {
          const double w = reference::weight(*m, r, c);
          ASSERT_TRUE(std::isfinite(w));
          sum += w;
          squares += w * w;
        }
      }
      const auto count = static_cast<double>(m->rows * m->cols);
      const double expected =
          m == &model->weights().embedding ? 1.0 : 1.0 / static_cast<double>(m->cols);
      EXPECT_NEAR(squares / count / expected, 1.0, 0.15) << precision << name_of(m->type);
      EXPECT_NEAR(sum / count / std::sqrt(expected), 0.0, 0.015) << precision << name_of(m->type);
    }
  }
}

// One thread: with two, the other may have filled the rest before this one first reports.
TEST(Weights, fillingStopsAtTheNextPieceWhenCancelled) {
  const Layout layout = layout_with_layers("dense-small", "f16", 4);
  Memory memory(layout);
  WorkerPool pool(1);
  CancelToken cancel;
  std::vector<std::uint64_t> reported;
  const auto filled =
      fill_weights(layout, memory.spans, 1, pool, cancel, [&](std::uint64_t done, std::uint64_t) {
        reported.push_back(done);
        cancel.cancel();
      });
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().kind, ErrorKind::cancelled);
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_LT(reported[0], layout.computed_bytes());
}

TEST(Weights, noThreadFillsAPieceOnceCancelled) {
  const Layout layout = layout_with_layers("dense-small", "f16", 4);
  Memory memory(layout);
  WorkerPool pool(4);
  CancelToken cancel;
  cancel.cancel();
  const auto filled = fill_weights(layout, memory.spans, 1, pool, cancel, {});
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().kind, ErrorKind::cancelled);
  for (const std::span<std::byte> span : memory.spans) {
    EXPECT_TRUE(std::ranges::all_of(span, [](std::byte b) { return b == std::byte{0}; }));
  }
}

}  // namespace
}  // namespace assay::runtime
