#include "probes/pcie/lspci_dump.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/pcie/config_bytes.h"

namespace assay::probes {
namespace {

using test::ConfigBytes;
using testing::HasSubstr;

std::string hex_of(const ConfigBytes& config, std::size_t length = 256) {
  std::string text;
  for (std::size_t at = 0; at < length; at += 16) {
    text += fmt::format("{:02x}:", at);
    for (std::size_t i = 0; i < 16; ++i) text += fmt::format(" {:02x}", config.bytes()[at + i]);
    text += "\n";
  }
  return text;
}

ConfigBytes link_at(unsigned lnksta) {
  return ConfigBytes().pci_express(0x50, 0, 0x00000C44, lnksta);
}

TEST(LspciDump, readsFunctionsWithAndWithoutADomain) {
  const auto functions = parse_lspci_dump("0001:02:00.1 Accelerator: x\n" + hex_of(link_at(0x43)) +
                                          "\n01:00.0 Other\n" + hex_of(link_at(0x11)) +
                                          "\n10000:e1:00.0 Behind VMD\n" + hex_of(link_at(0x42)));
  ASSERT_TRUE(functions);
  ASSERT_EQ(functions->size(), 3U);
  EXPECT_EQ((*functions)[0].address, "0000:01:00.0");
  EXPECT_EQ((*functions)[0].link()->width, 1);
  EXPECT_EQ((*functions)[1].address, "0001:02:00.1");
  EXPECT_EQ((*functions)[1].link()->speed_gts, 8.0);
  EXPECT_EQ((*functions)[2].address, "10000:e1:00.0");
}

TEST(LspciDump, linesOfVerboseOutputAndOfOtherSystemsAreNoMatter) {
  std::string text = "01:00.0 Accelerator\n\tControl: I/O- Mem+\n\tRegion 0: Memory at 00: 10\n" +
                     hex_of(link_at(0x43)) + "\n";
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.insert(at, "\r");
  }
  const auto functions = parse_lspci_dump(text);
  ASSERT_TRUE(functions) << functions.error().text();
  EXPECT_EQ(functions->at(0).link()->width, 4);
}

TEST(LspciDump, whatRootAloneCouldReadIsMissingAndSaidSo) {
  const auto functions = parse_lspci_dump("01:00.0 x\n" + hex_of(link_at(0x43), 64));
  ASSERT_TRUE(functions);
  EXPECT_TRUE(functions->at(0).cut);
  EXPECT_EQ(functions->at(0).link(), nullptr);
}

TEST(LspciDump, namesTheLineThatIsWrong) {
  const std::string bytes = hex_of(link_at(0x43));
  struct Case {
    std::string text;
    const char* where;
    const char* what;
  };
  const Case cases[] = {
      {bytes, "line 1", "before any function"},
      {"01:00.0 x\n" + bytes.substr(0, 52) + bytes.substr(104), "line 3", "from 0x20"},
      {"01:00.0 x\n" + bytes + "01:00.0 y\n", "line 18", "a second function 0000:01:00.0"},
      {"", "", "no configuration space"},
      {"01:00.0 x\n", "", "no configuration space"},
      {"01:00.0 x\nnothing here\n", "", "no configuration space"},
  };
  for (const Case& c : cases) {
    const auto functions = parse_lspci_dump(c.text);
    ASSERT_FALSE(functions) << c.what;
    EXPECT_EQ(functions.error().kind, ErrorKind::usage);
    EXPECT_EQ(functions.error().where, c.where);
    EXPECT_THAT(functions.error().what, HasSubstr(c.what));
  }
}

}  // namespace
}  // namespace assay::probes
