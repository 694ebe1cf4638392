#include "runtime/engine/engine.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "runtime/device/host_device.h"

namespace assay::runtime {
namespace {

// The host's memory, and a note of what the engine told the device.
class NotingDevice final : public NpuDevice {
 public:
  Result<Mapping> map(std::uint64_t bytes, Placement placement) override {
    return host_.map(bytes, placement);
  }
  void unmap(std::uint64_t id) override { host_.unmap(id); }
  std::uint64_t max_chunk_bytes() const override { return host_.max_chunk_bytes(); }
  Result<> pool_flush() override { return host_.pool_flush(); }
  Result<> pool_defragment() override { return host_.pool_defragment(); }
  PoolInfo pool_info() const override { return host_.pool_info(); }
  void set_active_units(unsigned units) override { active.push_back(units); }
  unsigned units() const override { return 4; }
  void pace(std::int64_t elapsed_ns) override { paced.push_back(elapsed_ns); }

  std::vector<unsigned> active;
  std::vector<std::int64_t> paced;

 private:
  HostDevice host_;
};

struct Bench {
  explicit Bench(const char* shape, std::uint64_t seed = 1, unsigned threads = 2)
      : pool(threads),
        model(load(device,
                   plan_layout(find_shape(shape).value(), find_precision("mixed-fp8").value(), 2,
                               device.max_chunk_bytes())
                       .value(),
                   seed, pool, CancelToken{}, {})
                  .value()) {}
  Engine engine(const EngineOptions& options = {}) {
    return Engine::create(model, device, pool, options).value();
  }
  NotingDevice device;
  WorkerPool pool;
  LoadedModel model;
};

std::vector<TokenId> prompt_of(std::size_t length) {
  std::vector<TokenId> prompt(length);
  for (std::size_t i = 0; i < length; ++i) prompt[i] = static_cast<TokenId>(i * 97 % 2048);
  return prompt;
}

class EngineOf : public testing::TestWithParam<const char*> {};

TEST_P(EngineOf, resultsAreBitIdenticalForAnyThreadsAndChunks) {
  const auto prompt = prompt_of(21);
  std::vector<TokenId> ids;
  std::vector<float> logits;
  for (const unsigned threads : {1U, 2U, 3U}) {
    Bench bench(GetParam(), 9, threads);
    for (const std::size_t chunk : {8U, 1U, 5U}) {
      Engine engine = bench.engine({.context = 64, .prefill_chunk = chunk});
      const auto made = engine.generate(prompt, 6);
      const auto last = engine.evaluate(prompt);
      ASSERT_TRUE(made && last);
      if (ids.empty()) {
        ids = made->tokens;
        logits.assign(last->begin(), last->end());
      }
      EXPECT_EQ(made->tokens, ids) << threads << " threads, chunks of " << chunk;
      EXPECT_TRUE(std::ranges::equal(*last, logits)) << threads << " threads, chunks of " << chunk;
    }
  }
}

TEST_P(EngineOf, anotherSeedSaysSomethingElse) {
  Bench a(GetParam(), 1);
  Bench b(GetParam(), 2);
  EXPECT_NE(a.engine().generate(prompt_of(4), 6)->tokens,
            b.engine().generate(prompt_of(4), 6)->tokens);
}

TEST_P(EngineOf, aNewSequenceForgetsTheOneBefore) {
  Bench bench(GetParam());
  Engine engine = bench.engine();
  const auto first = engine.generate(prompt_of(9), 5)->tokens;
  (void)engine.generate(prompt_of(30), 5);
  EXPECT_EQ(engine.generate(prompt_of(9), 5)->tokens, first);
}

TEST_P(EngineOf, reportsWhatItDid) {
  Bench bench(GetParam());
  std::vector<TokenId> heard;
  std::vector<std::int64_t> times;
  const auto made = bench.engine().generate(
      prompt_of(19), 5, {.on_token = [&](std::size_t index, TokenId id, std::int64_t ns) {
        EXPECT_EQ(index, heard.size());
        heard.push_back(id);
        times.push_back(ns);
      }});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->tokens, heard);
  EXPECT_EQ(made->tokens.size(), 5U);
  EXPECT_EQ(made->first_token_ns, times[0]);
  EXPECT_EQ(made->per_token_ns, std::vector<std::int64_t>(times.begin() + 1, times.end()));
  EXPECT_EQ(made->prefill_tokens, 19U);
  EXPECT_EQ(made->layers_computed, 2U);
  EXPECT_EQ(made->bytes_read_per_token, bench.model.layout().bytes_read_per_token());
  // Three chunks of prompt and four tokens, between all units on and off.
  EXPECT_EQ(bench.device.paced.size(), 7U);
  EXPECT_EQ(bench.device.active, (std::vector<unsigned>{4, 0}));
}

TEST_P(EngineOf, refusesWhatDoesNotFit) {
  Bench bench(GetParam());
  Engine engine = bench.engine({.context = 16});
  const auto too_long = engine.generate(prompt_of(12), 5);
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().what, "context length overflow: 17 tokens, the context holds 16");
  EXPECT_TRUE(engine.generate(prompt_of(12), 4));
  EXPECT_FALSE(engine.generate(prompt_of(1), SIZE_MAX));
  EXPECT_FALSE(engine.generate({}, 1));
  EXPECT_FALSE(engine.generate(prompt_of(1), 0));
  EXPECT_FALSE(engine.generate(std::vector<TokenId>{2048}, 1));
  EXPECT_EQ(engine.evaluate(prompt_of(17)).error().kind, ErrorKind::usage);

  const auto option = [&](const EngineOptions& options) {
    return Engine::create(bench.model, bench.device, bench.pool, options).error().where;
  };
  EXPECT_EQ(option({.context = 2049}), "context");
  EXPECT_EQ(option({.prefill_chunk = 0}), "prefill_chunk");
  EXPECT_EQ(option({.prefill_chunk = 9}), "prefill_chunk");
  EXPECT_EQ(option({.units = 5}), "units");
}

TEST_P(EngineOf, cancelStopsBeforeTheNextLayer) {
  Bench bench(GetParam());
  std::size_t asked = 0;
  std::size_t tokens = 0;
  const auto made = bench.engine().generate(
      prompt_of(8), 1000,
      {.on_token = [&](std::size_t, TokenId, std::int64_t) { ++tokens; },
       // Asked before each of two layers and before the head: the second token's second layer.
       .cancelled = [&] { return ++asked == 5; }});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(asked, 5U);
  EXPECT_EQ(tokens, 1U);
  EXPECT_EQ(bench.device.active.back(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EngineOf, testing::Values("dense-small", "moe-small"),
                         [](const auto& kind) {
                           return std::string(kind.param).substr(0, 3) == "moe" ? "moe" : "dense";
                         });

TEST(Engine, countsTheTokensOfEachExpert) {
  Bench bench("moe-small");
  const auto made = bench.engine().generate(prompt_of(19), 5);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->expert_counts.size(), 2U);
  for (const auto& layer : made->expert_counts) {
    ASSERT_EQ(layer.size(), 16U);
    EXPECT_EQ(std::accumulate(layer.begin(), layer.end(), std::uint64_t{0}), 2U * (19 + 4));
  }
  Bench dense("dense-small");
  EXPECT_TRUE(dense.engine().generate(prompt_of(3), 2)->expert_counts.empty());
}

}  // namespace
}  // namespace assay::runtime
