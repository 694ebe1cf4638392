#include "firmware/image/dfu_suffix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/base/scratch.h"
#include "tests/firmware/bytes.h"
#include "tests/support/program.h"

namespace assay::firmware {
namespace {

using testing::HasSubstr;

Bytes bytes(std::size_t size) {
  std::mt19937 random(static_cast<std::uint32_t>(size));
  Bytes all(size);
  for (auto& byte : all) byte = static_cast<std::uint8_t>(random());
  return all;
}

std::string text(const Bytes& all) {
  return {all.begin(), all.end()};
}
Bytes unpack(const std::string& all) {
  return {all.begin(), all.end()};
}

const DfuSuffix ours{.vendor = 0x1209, .product = 0xA55A, .device = 0x0203};

// Debian's dfu-suffix (package dfu-util).
test::Finished dfu_suffix(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"/usr/bin/dfu-suffix"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return test::Program(argv).wait();
}

TEST(DfuSuffix, dfuUtilsToolReadsOurs) {
  for (const std::size_t size : {1u, 15u, 16u, 17u, 3000u, 65'537u}) {
    const test::Scratch folder;
    const Bytes content = bytes(size);
    folder.write("image.dfu", text(add_dfu_suffix(content, ours)));
    const auto checked = dfu_suffix({"-c", folder / "image.dfu"});
    ASSERT_EQ(checked.exit_code, 0) << checked.out << checked.err;
    EXPECT_THAT(checked.out, HasSubstr("BCD device:\t0x0203"));
    EXPECT_THAT(checked.out, HasSubstr("Product ID:\t0xA55A"));
    EXPECT_THAT(checked.out, HasSubstr("Vendor ID:\t0x1209"));
    ASSERT_EQ(dfu_suffix({"-D", folder / "image.dfu"}).exit_code, 0);
    EXPECT_EQ(unpack(folder.content("image.dfu")), content);
  }
}

TEST(DfuSuffix, dfuUtilsToolWritesWhatWeRead) {
  for (const std::size_t size : {1u, 3000u, 65'537u}) {
    const test::Scratch folder;
    const Bytes content = bytes(size);
    folder.write("image.dfu", text(content));
    const auto added =
        dfu_suffix({"-a", folder / "image.dfu", "-v", "1209", "-p", "a55a", "-d", "0203"});
    ASSERT_EQ(added.exit_code, 0) << added.err;
    const Bytes file = unpack(folder.content("image.dfu"));
    EXPECT_EQ(file, add_dfu_suffix(content, ours));
    const auto read = read_dfu_file(file, "image.dfu");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_TRUE(std::ranges::equal(read->content, content));
    ASSERT_TRUE(read->suffix);
    EXPECT_EQ(read->suffix->vendor, 0x1209);
    EXPECT_EQ(read->suffix->product, 0xA55A);
    EXPECT_EQ(read->suffix->device, 0x0203);
    EXPECT_EQ(read->suffix->dfu, 0x0100);
  }
}

TEST(DfuSuffix, aFileWithoutOneIsItsContent) {
  for (const std::size_t size : {0u, 1u, 15u, 16u, 4096u}) {
    const Bytes content = bytes(size);
    const auto read = read_dfu_file(content, "image.bin");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->content.size(), size);
    EXPECT_FALSE(read->suffix);
  }
}

TEST(DfuSuffix, eachFlippedBitIsFoundOrTakesTheSuffixAway) {
  const Bytes file = add_dfu_suffix(bytes(40), ours);
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    Bytes broken = file;
    broken[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    const auto read = read_dfu_file(broken, "image.dfu");
    const bool in_signature = bit / 8 >= file.size() - 8 && bit / 8 < file.size() - 5;
    EXPECT_EQ(read.has_value(), in_signature) << bit;
    if (read) {
      EXPECT_FALSE(read->suffix) << bit;
    } else {
      EXPECT_EQ(read.error().kind, ErrorKind::bad_file);
    }
  }
}

TEST(DfuSuffix, aSuffixAloneAndADfuSeFileAreRefused) {
  EXPECT_THAT(read_dfu_file(add_dfu_suffix({}, ours), "x.dfu").error().text(),
              HasSubstr("nothing before"));
  DfuSuffix dfuse = ours;
  dfuse.dfu = 0x011A;
  EXPECT_THAT(read_dfu_file(add_dfu_suffix(bytes(9), dfuse), "x.dfu").error().text(),
              HasSubstr("plain binary image"));
}

TEST(DfuSuffix, itIsForItsDeviceOrForAny) {
  EXPECT_TRUE(check_dfu_suffix(ours, 0x1209, 0xA55A, "x.dfu"));
  EXPECT_TRUE(check_dfu_suffix({}, 0x1209, 0xA55A, "x.dfu"));
  EXPECT_TRUE(check_dfu_suffix({.vendor = 0x1209}, 0x1209, 1, "x.dfu"));
  EXPECT_EQ(check_dfu_suffix({.vendor = 0x1209}, 0x1D50, 0xA55A, "x.dfu").error().text(),
            "x.dfu: the file is for USB device 1209:any, this one is 1d50:a55a; take the file that "
            "is for this device");
  EXPECT_FALSE(check_dfu_suffix(ours, 0x1209, 0xA55B, "x.dfu"));
}

}  // namespace
}  // namespace assay::firmware
