// assay model fit, as a person types it: the two cases that the first board is known for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/scratch.h"
#include "tests/support/program.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

Finished fit(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"model", "fit"});
  return Program(assay_argv(std::move(arguments))).wait();
}

TEST(ModelCommand, saysWhyADense27bDoesNotLoadAndHowItDoes) {
  const Finished f16 = fit({"dense-27b", "--board", "m6-mini"});
  EXPECT_EQ(f16.exit_code, 1) << f16.err;
  EXPECT_THAT(f16.out, HasSubstr("Will load  only at mixed-fp8 or smaller"));
  EXPECT_THAT(f16.out, HasSubstr("Fails at   mapping 1 of 1, 53962362880 bytes"));

  const Finished mixed = fit({"dense-27b", "--precision", "mixed-fp8", "--virtual"});
  EXPECT_EQ(mixed.exit_code, 0) << mixed.err;
  EXPECT_THAT(mixed.out, HasSubstr("firmware 2.3.1 (as the board says)"));
  EXPECT_THAT(mixed.out, HasSubstr("Will load  yes, after flush and defragment"));
  EXPECT_THAT(mixed.out, HasSubstr("before the load, never after"));

  const Finished old =
      fit({"dense-27b", "--precision", "mixed-fp8", "--virtual", "--fault", "fw-old"});
  EXPECT_EQ(old.exit_code, 1) << old.err;
  EXPECT_THAT(old.out, HasSubstr("only sharded: 12 shards"));
  EXPECT_THAT(old.out, HasSubstr("flash firmware 2.3.0 or newer"));
}

TEST(ModelCommand, aMoeLoads) {
  const Finished moe = fit({"moe-7b-a2.4b", "--virtual", "--json"});
  EXPECT_EQ(moe.exit_code, 0) << moe.err;
  const auto json = nlohmann::json::parse(moe.out);
  EXPECT_EQ(json.at("asked").at("fit"), "yes");
  EXPECT_GT(json.at("asked").at("mappings"), 256);
  EXPECT_EQ(json.at("others").size(), 3U);
}

TEST(ModelCommand, takesTheSizesOfAModelFromAFile) {
  const Scratch scratch;
  scratch.write("mine.json",
                R"({ "schema": "assay/model/1", "name": "mine", "layers": 2, "width": 64,
  "heads": 4, "kv_heads": 2, "head_dim": 16, "ffn": 128, "vocabulary": 512, "context": 128 })");
  const Finished mine = fit({scratch / "mine.json"});
  EXPECT_EQ(mine.exit_code, 0) << mine.err;
  EXPECT_THAT(mine.out, HasSubstr("mine as f16"));
  scratch.write("wrong.json",
                R"({ "schema": "assay/model/1", "name": "mine", "layers": 2, "width": 64,
  "heads": 4, "kv_heads": 3, "head_dim": 16, "ffn": 128, "vocabulary": 512, "context": 128 })");
  const Finished wrong = fit({scratch / "wrong.json"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("wrong.json:2:"));
  EXPECT_THAT(wrong.err, HasSubstr("3 does not divide 4 heads"));
}

TEST(ModelCommand, wrongUseIsOneLineAndExitCode2) {
  for (const auto& [arguments, expected] :
       std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"dense-28b"}, "known are moe-7b-a2.4b"},
           {{"dense-27b", "--precision", "fp7"}, "known are f16"},
           {{"dense-27b", "--board", "m6-mini", "--firmware", "new"}, "--firmware"},
           {{"/nowhere/shape.json"}, "/nowhere/shape.json"}}) {
    const Finished run = fit(arguments);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_THAT(run.err, HasSubstr(expected));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

}  // namespace
}  // namespace assay::test
