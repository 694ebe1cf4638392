#include "probes/workload/workload_generate.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/bench_fixture.h"

namespace assay::probes {
namespace {

using reports::FindingKind;
using reports::StepState;
using test::Outcome;
using testing::HasSubstr;

// The machine's memory behind the rules of an NPU: a pool that gives one contiguous mapping only
// after it was flushed and defragmented, or never.
class PooledDevice final : public runtime::NpuDevice {
 public:
  Result<runtime::Mapping> map(std::uint64_t bytes, runtime::Placement placement) override {
    if (placement == runtime::Placement::contiguous && (!joined_ || never_joins)) {
      return fail(ErrorKind::exhausted,
                  fmt::format("npu_dma_map_error: cannot map {} bytes", bytes));
    }
    return host_.map(bytes, placement);
  }
  void unmap(std::uint64_t id) override { host_.unmap(id); }
  std::uint64_t max_chunk_bytes() const override { return 1'843'200 * std::uint64_t{1024}; }
  Result<> pool_flush() override {
    calls.push_back("flush");
    return {};
  }
  Result<> pool_defragment() override {
    calls.push_back("defragment");
    if (host_.pool_info().live_mappings > 0) return fail(ErrorKind::usage, "mappings live");
    if (calls.size() >= 2 && calls[calls.size() - 2] == "flush") joined_ = true;
    return {};
  }
  runtime::PoolInfo pool_info() const override {
    constexpr std::uint64_t total = std::uint64_t{24} << 30;
    return {.total_bytes = total,
            .free_bytes = total,
            .largest_free_block_bytes = joined_ && !never_joins ? total : std::uint64_t{16} << 20,
            .live_mappings = host_.pool_info().live_mappings};
  }
  void set_active_units(unsigned) override {}
  unsigned units() const override { return 4; }
  void pace(std::int64_t) override {}

  bool never_joins = false;
  std::vector<std::string> calls;

 private:
  runtime::HostDevice host_;
  bool joined_ = false;
};

class WorkloadGenerate : public testing::Test {
 protected:
  WorkloadGenerate() { model("moe-small"); }
  void model(const std::string& name) {
    bench_.parameters.set("model", name);
    bench_.parameters.set("precision", std::string("int4"));
    bench_.parameters.set("prompt_tokens", std::uint64_t{5});
    bench_.parameters.set("tokens", std::uint64_t{9});
  }
  Outcome run() { return bench_.run(workload_generate_probe()); }
  Result<> preflight() {
    const Probe probe = workload_generate_probe();
    if (auto checked = probe.check(bench_.parameters); !checked) return checked;
    return probe.preflight(bench_.bench(), bench_.parameters);
  }
  static std::string tokens_of(const Outcome& outcome) {
    const std::size_t at = outcome.journal.find("\"ids\":\"");
    if (at == std::string::npos) return {};
    return outcome.journal.substr(at + 7, outcome.journal.find('"', at + 7) - at - 7);
  }

  test::BenchFixture bench_;
};

TEST_F(WorkloadGenerate, measuresAModelOfEachKind) {
  for (const char* name : {"moe-small", "dense-small"}) {
    model(name);
    ASSERT_TRUE(preflight());
    const Outcome outcome = run();
    ASSERT_TRUE(outcome.result) << outcome.result.error().text();
    EXPECT_EQ(outcome.step.state, StepState::pass);
    for (const char* measurement :
         {"first_token", "per_token_p50", "per_token_p99", "tokens_per_second", "weights_bandwidth",
          "mapped_bytes", "load_time"}) {
      ASSERT_NE(outcome.measurement(measurement), nullptr) << measurement;
      EXPECT_GT(outcome.number(measurement), 0) << measurement;
    }
    EXPECT_LE(outcome.number("per_token_p50"), outcome.number("per_token_p99"));
    // The first token has a measurement of its own.
    EXPECT_EQ(outcome.series("token_latency")->count, 8U);
    const std::string ids = tokens_of(outcome);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), ' '), 8) << ids;
    const bool moe = std::string(name) == "moe-small";
    EXPECT_EQ(outcome.measurement("experts_used") != nullptr, moe);
    if (moe) {
      EXPECT_GT(outcome.number("experts_used"), 0);
      EXPECT_LE(outcome.number("experts_used"), 1);
    }
    // The machine itself has no pool to speak of.
    EXPECT_EQ(outcome.measurement("pool_largest_free_block"), nullptr);
  }
}

TEST_F(WorkloadGenerate, theSeedDecidesTheTokens) {
  bench_.parameters.set("seed", std::uint64_t{7});
  const std::string first = tokens_of(run());
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(tokens_of(run()), first);
  bench_.parameters.set("seed", std::uint64_t{8});
  EXPECT_NE(tokens_of(run()), first);
}

TEST_F(WorkloadGenerate, saysWhenOnlySomeLayersAreComputed) {
  bench_.parameters.set("layers", std::uint64_t{2});
  EXPECT_TRUE(run().logged("2 of 4 layers"));
}

TEST_F(WorkloadGenerate, oneTokenHasNoLatencyOfLaterOnes) {
  bench_.parameters.set("tokens", std::uint64_t{1});
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.result);
  EXPECT_NE(outcome.measurement("first_token"), nullptr);
  EXPECT_EQ(outcome.measurement("per_token_p99"), nullptr);
}

TEST_F(WorkloadGenerate, refusesBeforeTheRunWhatCannotBeDone) {
  struct Case {
    const char* name;
    ParameterValue value;
    const char* message;
  };
  for (const auto& c : {Case{"model", std::string("gpt-9"), "model"},
                        Case{"precision", std::string("fp3"), "precision"},
                        Case{"layers", std::uint64_t{5}, "has 4 layers, 5 asked for"},
                        Case{"prompt_tokens", std::uint64_t{2048}, "context length overflow"},
                        Case{"tokens", std::uint64_t{2044}, "context length overflow"}}) {
    model("moe-small");
    bench_.parameters.set("layers", std::uint64_t{4});
    ASSERT_TRUE(preflight());
    bench_.parameters.set(c.name, c.value);
    const auto refused = preflight();
    ASSERT_FALSE(refused) << c.name;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_THAT(refused.error().text(), HasSubstr(c.message));
    EXPECT_TRUE(bench_.parameters.has(refused.error().where)) << refused.error().where;
  }
  // 5 + 2043 tokens are what the context holds.
  model("moe-small");
  bench_.parameters.set("tokens", std::uint64_t{2043});
  EXPECT_TRUE(preflight());
  // And sums beyond 64 bits overflow too.
  bench_.parameters.set("tokens", ~std::uint64_t{0});
  EXPECT_FALSE(preflight());
}

TEST_F(WorkloadGenerate, aRefusedMappingSucceedsAfterFlushAndDefragment) {
  PooledDevice device;
  bench_.npu = &device;
  model("dense-small");
  const Outcome outcome = run();
  ASSERT_TRUE(outcome.result) << outcome.result.error().text();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_THAT(device.calls, testing::ElementsAre("flush", "defragment"));
  const auto* finding = outcome.finding("NPU_DMA_MAP_ERROR");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->kind, FindingKind::observation);
  EXPECT_THAT(finding->evidence.front(), HasSubstr("npu_dma_map_error: cannot map"));
  EXPECT_EQ(outcome.number("pool_largest_free_block"), 24.0 * 1024 * 1024 * 1024);
  EXPECT_NE(outcome.measurement("tokens_per_second"), nullptr);
}

TEST_F(WorkloadGenerate, aPoolThatStaysInPiecesIsTheBoardsFault) {
  PooledDevice device;
  device.never_joins = true;
  bench_.npu = &device;
  model("dense-small");
  const Outcome outcome = run();
  EXPECT_TRUE(outcome.result);
  EXPECT_EQ(outcome.step.state, StepState::fail);
  const auto* finding = outcome.finding("NPU_POOL_FRAGMENTED");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->kind, FindingKind::fault);
  EXPECT_FALSE(finding->remedy.empty());
  EXPECT_EQ(outcome.measurement("tokens_per_second"), nullptr);
  EXPECT_THAT(device.calls, testing::ElementsAre("flush", "defragment"));
  EXPECT_EQ(device.pool_info().live_mappings, 0U);
}

TEST_F(WorkloadGenerate, expertsNeedNoContiguousPool) {
  PooledDevice device;
  device.never_joins = true;
  bench_.npu = &device;
  const Outcome outcome = run();
  EXPECT_EQ(outcome.step.state, StepState::pass);
  EXPECT_TRUE(device.calls.empty());
  EXPECT_TRUE(outcome.step.findings.empty());
  EXPECT_EQ(device.pool_info().live_mappings, 0U);
}

TEST_F(WorkloadGenerate, cancelledItIsNoPass) {
  bench_.cancel.cancel();
  const Outcome outcome = run();
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(outcome.step.state, StepState::error);
}

}  // namespace
}  // namespace assay::probes
