// assay pcie --from and --retrain, as a person types them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/base/scratch.h"
#include "tests/support/program.h"

namespace assay::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

// A root port at 8 GT/s x4 whose endpoint can do 16 GT/s x4, and the endpoint: PCI Express
// capability at 0x40, nothing else.
constexpr const char* dump = R"(00:02.0 PCI bridge: written by hand
00: 36 1e 06 00 06 00 10 00 00 00 04 06 00 00 01 00
10: 00 00 00 00 00 00 00 00 00 01 01 00 00 00 00 00
20: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
30: 00 00 00 00 40 00 00 00 00 00 00 00 00 00 00 00
40: 10 00 42 01 00 00 00 00 00 00 00 00 43 00 00 00
50: 00 00 43 10 80 0c 00 00 00 00 00 00 00 00 00 00
60: 00 00 00 00 00 00 00 00 00 00 00 00 0e 00 00 00
70: 03 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00

01:00.0 Processing accelerators: written by hand
00: 36 1e 07 00 06 00 10 00 00 00 00 12 00 00 00 00
10: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
20: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
30: 00 00 00 00 40 00 00 00 00 00 00 00 00 00 00 00
40: 10 00 02 00 00 00 00 00 00 00 00 00 44 00 00 00
50: 00 00 43 10 00 00 00 00 00 00 00 00 00 00 00 00
60: 00 00 00 00 00 00 00 00 00 00 00 00 1e 00 00 00
70: 04 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
)";

class PcieCommand : public testing::Test {
 protected:
  PcieCommand() { scratch_.write("dump", dump); }
  static Finished assay(std::vector<std::string> arguments) {
    return Program(assay_argv(std::move(arguments))).wait();
  }
  Scratch scratch_;
};

TEST_F(PcieCommand, decodesASavedDump) {
  const Finished text = assay({"pcie", "--from", scratch_ / "dump"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("0000:00:02.0  1e36:0006  class 0x0604  Root Port"));
  EXPECT_THAT(text.out, HasSubstr("PowerLimit 25W"));
  EXPECT_THAT(text.out, HasSubstr("Target Link Speed: 8GT/s"));
  EXPECT_THAT(text.out, HasSubstr("0000:00:02.0 to 0000:01:00.0: 8.0 GT/s x4 of 8.0 GT/s x4, "
                                  "3.94 GB/s each way"));

  const Finished json = assay({"pcie", "--from", scratch_ / "dump", "--json"});
  EXPECT_EQ(json.exit_code, 0);
  const auto functions = nlohmann::json::parse(json.out).at("functions");
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[1].at("link_max"), "16.0 GT/s x4");
}

TEST_F(PcieCommand, whatItCannotDoIsOneLine) {
  scratch_.write("text", "no dump\n");
  scratch_.write("gap", std::string(dump).erase(36, 52));
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--from", scratch_ / "none"},
        {"--from", scratch_ / "text"},
        {"--from", scratch_ / "gap"},
        {"--from", scratch_ / "dump", "--retrain", "0000:00:02.0"},
        {"--retrain", "no such port"},
        {"--retrain", "../../../../etc"}}) {
    std::vector<std::string> arguments = {"pcie"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const Finished refused = assay(arguments);
    EXPECT_EQ(refused.exit_code, 2) << wrong[1] << refused.err;
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, MatchesRegex("[^\n]+\n")) << wrong[1];
  }
}

}  // namespace
}  // namespace assay::test
