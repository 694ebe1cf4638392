// assay model synth | info, as a person types them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/base/scratch.h"
#include "tests/support/program.h"

namespace assay::test {
namespace {

using testing::HasSubstr;

Finished model(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "model");
  return Program(assay_argv(std::move(arguments))).wait();
}

TEST(ModelFile, whatSynthWritesInfoShows) {
  const Scratch scratch;
  const std::string path = scratch / "moe.gguf";
  for (const auto& [type, name] :
       {std::pair{"f16", "F16"}, {"q8", "Q8_0"}, {"q4", "Q4_0"}, {"fp8", "F16"}}) {
    const Finished made =
        model({"synth", "--preset", "moe-small", "--type", type, "-o", path, "--force"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const Finished text = model({"info", path, "--tensors"});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("Experts     16 of width 384, 2 used a token"));
    EXPECT_THAT(text.out, HasSubstr("blk.3.ffn_gate_exps.weight"));
    const auto json = nlohmann::json::parse(model({"info", path, "--json"}).out);
    EXPECT_EQ(json.at("architecture"), "llama");
    EXPECT_EQ(json.at("experts"), 16);
    EXPECT_EQ(json.at("parameters"), 20'728'064);
    EXPECT_EQ(json.at("types").at(name).at("tensors"), 30);
    EXPECT_EQ(json.at("types").at("F32").at("tensors"), 13);
    EXPECT_EQ(json.at("tensors").size(), 43U);
  }
}

TEST(ModelFile, synthTakesTheSizesFromAFileAndNeverWritesOverAModel) {
  const Scratch scratch;
  scratch.write("mine.json",
                R"({ "schema": "assay/model/1", "name": "mine", "layers": 2, "width": 64,
  "heads": 4, "kv_heads": 2, "head_dim": 16, "ffn": 128, "vocabulary": 512, "context": 128 })");
  const std::vector<std::string> synth = {"synth", "--preset", scratch / "mine.json", "-o",
                                          scratch / "mine.gguf"};
  ASSERT_EQ(model(synth).exit_code, 0);
  EXPECT_THAT(model({"info", scratch / "mine.gguf"}).out, HasSubstr("2 of width 64"));
  const std::string first = scratch.content("mine.gguf");
  const Finished again = model(synth);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("is there already; --force"));
  EXPECT_TRUE(scratch.content("mine.gguf") == first);
}

TEST(ModelFile, wrongUseIsToldInOneLine) {
  const Scratch scratch;
  const std::string output = scratch / "model";
  for (const auto& [arguments, says] : {
           std::pair{std::vector<std::string>{"synth", "--preset", "huge", "-o", output},
                     "known are moe-7b-a2.4b"},
           {{"synth", "--preset", "moe-small", "--type", "q3", "-o", output}, "known are f16"},
           {{"synth", "--preset", "moe-small", "-o", scratch / "none/model"}, "none/model"},
           {{"synth", "--preset", "moe-small", "--seed", "-1", "-o", output}, "--seed"},
           {{"info", scratch / "none"}, "no such file"},
           {{"info", scratch.root()}, "is a folder"},
       }) {
    const Finished finished = model(arguments);
    EXPECT_NE(finished.exit_code, 0) << says;
    EXPECT_THAT(finished.err, HasSubstr(says));
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
  }
  EXPECT_TRUE(scratch.names().empty());
}

TEST(ModelFile, aWeightThatIsNoNumberIsFound) {
  const Scratch scratch;
  const std::string path = scratch / "model.gguf";
  ASSERT_EQ(model({"synth", "--preset", "dense-small", "--type", "q8", "-o", path}).exit_code, 0);
  const Finished sound = model({"info", path, "--check-weights"});
  EXPECT_EQ(sound.exit_code, 0) << sound.err;
  const auto index = nlohmann::json::parse(model({"info", path, "--json"}).out);
  for (const auto& tensor : index.at("tensors")) {
    if (tensor.at("name") != "blk.2.attn_k.weight") continue;
    std::string content = scratch.content("model.gguf");
    // The scale of a block: infinite, and so are its weights; those with code 0 are NaN.
    content.replace(tensor.at("offset").get<std::size_t>() + 34, 2, std::string("\x00\x7C", 2));
    scratch.write("model.gguf", content);
  }
  const Finished text = model({"info", path, "--check-weights"});
  EXPECT_EQ(text.exit_code, 1) << text.err;
  EXPECT_THAT(text.out, HasSubstr("32 weights are NaN or infinite"));
  const Finished json = model({"info", path, "--check-weights", "--json"});
  EXPECT_EQ(json.exit_code, 1);
  for (const auto& weights : nlohmann::json::parse(json.out).at("weights")) {
    EXPECT_EQ(weights.at("not_finite"), weights.at("name") == "blk.2.attn_k.weight" ? 32 : 0);
  }
}

// Cut at any place, and with each byte of its head changed: one line and exit code 2, or a model.
TEST(ModelFile, aDamagedFileIsOneLineAndExitCode2) {
  const Scratch scratch;
  ASSERT_EQ(model({"synth", "--preset", "dense-small", "--type", "q4", "-o", scratch / "sound"})
                .exit_code,
            0);
  const std::string sound = scratch.content("sound");
  const auto held = [&](const std::string& content, const std::string& what) {
    scratch.write("damaged", content);
    const Finished finished = model({"info", scratch / "damaged"});
    if (finished.exit_code == 0) return false;
    EXPECT_EQ(finished.exit_code, 2) << what << finished.err;
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << what << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("damaged: ")) << what;
    return true;
  };
  for (const std::size_t length : {std::size_t{0}, std::size_t{3}, std::size_t{23},
                                   std::size_t{1000}, sound.size() / 2, sound.size() - 33}) {
    EXPECT_TRUE(held(sound.substr(0, length), "cut at " + std::to_string(length)));
  }
  for (const std::size_t at : {0U, 4U, 11U, 19U, 24U, 31U, 57U}) {
    std::string changed = sound;
    changed[at] = static_cast<char>(changed[at] ^ 0x7F);
    EXPECT_TRUE(held(changed, "byte " + std::to_string(at)));
  }
}

TEST(ModelFile, aTextIsTokenizedByTheModelsVocabulary) {
  const Scratch scratch;
  const std::string path = scratch / "model.gguf";
  ASSERT_EQ(model({"synth", "--preset", "moe-small", "--type", "q4", "-o", path}).exit_code, 0);
  const Finished plain = model({"tokenize", path, "The sky is blue"});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_EQ(plain.out, "1 259 311 796 735 348 601 373 872 328\n");
  const auto json = nlohmann::json::parse(model({"tokenize", path, "</s>", "--json"}).out);
  EXPECT_EQ(json.at("text"), "<s></s>");
  EXPECT_GT(json.at("count"), 2);
  EXPECT_EQ(model({"tokenize", path, "</s>", "--specials"}).out, "1 2\n");
  const Finished chat = model({"tokenize", path, "hello", "--chat"});
  EXPECT_EQ(chat.exit_code, 2);
  EXPECT_THAT(chat.err, HasSubstr("model.gguf: has no chat template"));
}

TEST(ModelFile, ctrlCLeavesNothingBehind) {
  const Scratch scratch;
  // Some 40 GB, which nobody writes in the moment until the signal; where there is no room for it,
  // the command says so, and nothing is left either.
  Program program(assay_argv(
      {"model", "synth", "--preset", "dense-27b", "--type", "q8", "-o", scratch / "large.gguf"}));
  ASSERT_TRUE(eventually(20, [&] { return !scratch.names().empty() || !program.running(); }));
  program.kill(SIGINT);
  const Finished finished = program.wait();
  EXPECT_TRUE(finished.exit_code == 130 || finished.exit_code == 3) << finished.err;
  EXPECT_TRUE(scratch.names().empty());
}

}  // namespace
}  // namespace assay::test
