#include "firmware/device/qemu-virt/identification.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "firmware/device/bytes.h"
#include "firmware/device/checksum.h"

namespace assay::firmware::device::qemu_virt {
namespace {

struct Block {
  explicit Block(const Identification& identification) {
    write_identification(identification, bytes);
  }
  // So that the checksum is not what refuses it.
  void seal() { put32(bytes + 124, crc32(bytes, 124)); }

  std::uint8_t bytes[identification_bytes];
};

Identification sample() {
  Identification identification;
  std::strcpy(identification.board, "m6-mini");
  std::strcpy(identification.serial, "M6-2548-000417");
  std::strcpy(identification.rom_version, "0.1.0-rom");
  return identification;
}

TEST(Identification, comesBack) {
  Identification longest = sample();
  std::strcpy(longest.board, std::string(32, 'b').c_str());
  std::strcpy(longest.serial, std::string(32, 's').c_str());
  std::strcpy(longest.rom_version, std::string(48, 'v').c_str());
  for (const Identification& identification : {sample(), longest}) {
    Identification read;
    ASSERT_TRUE(parse_identification(Block(identification).bytes, &read));
    EXPECT_STREQ(read.board, identification.board);
    EXPECT_STREQ(read.serial, identification.serial);
    EXPECT_STREQ(read.rom_version, identification.rom_version);
  }
}

TEST(Identification, anyDamageIsSeenAndChangesNothing) {
  const Block whole(sample());
  for (std::size_t i = 0; i < identification_bytes; ++i) {
    Block damaged = whole;
    damaged.bytes[i] ^= 0x10;
    Identification read;
    EXPECT_FALSE(parse_identification(damaged.bytes, &read)) << i;
    EXPECT_STREQ(read.board, "reference");
    EXPECT_STREQ(read.serial, "M6-0000-000000");
    EXPECT_STREQ(read.rom_version, "0.0.1-rom");
  }
  std::uint8_t erased[identification_bytes];
  std::memset(erased, 0xFF, sizeof erased);
  Identification read;
  EXPECT_FALSE(parse_identification(erased, &read));
}

TEST(Identification, textsThatWouldForgeAnAnswerAreRefused) {
  const std::size_t texts[] = {8, 40, 72};
  for (const std::size_t at : texts) {
    for (const char bad : {'\0', '\r', '\n', ' ', '\x7f', '\x80'}) {
      Block block(sample());
      block.bytes[at] = static_cast<std::uint8_t>(bad);
      block.seal();
      Identification read;
      EXPECT_FALSE(parse_identification(block.bytes, &read)) << at << " " << int{bad};
    }
    // Something hidden behind the text's end.
    Block block(sample());
    block.bytes[at + 20] = 'x';
    block.seal();
    Identification read;
    EXPECT_FALSE(parse_identification(block.bytes, &read)) << at;
  }
  Block later(sample());
  later.bytes[4] = 2;
  later.seal();
  Identification read;
  EXPECT_FALSE(parse_identification(later.bytes, &read));
}

}  // namespace
}  // namespace assay::firmware::device::qemu_virt
