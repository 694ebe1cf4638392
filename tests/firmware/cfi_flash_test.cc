#include "firmware/device/qemu-virt/cfi_flash.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/firmware/bytes.h"
#include "tests/firmware/cfi_model.h"

namespace assay::firmware::device::qemu_virt {
namespace {

constexpr std::uint32_t sector = CfiFlash::sector_bytes;

Bytes random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

class CfiFlashTest : public testing::Test {
 protected:
  // Whatever a call does, code may lie in the chips.
  void TearDown() override { EXPECT_TRUE(model_.reads_as_memory()); }
  CfiError program(std::uint32_t offset, const Bytes& bytes) {
    return flash_.program(offset, bytes.data(), static_cast<std::uint32_t>(bytes.size()));
  }
  Bytes read(std::uint32_t offset, std::size_t size) {
    Bytes bytes(size);
    EXPECT_EQ(flash_.read(offset, bytes.data(), static_cast<std::uint32_t>(size)), CfiError::none);
    return bytes;
  }
  int programs() const { return model_.chips[0].programs(); }
  int erases() const { return model_.chips[0].erases(); }

  test::CfiModel model_;
  CfiFlash flash_{model_.bus()};
};

TEST_F(CfiFlashTest, knowsItsChipsAndNoOthers) {
  EXPECT_EQ(flash_.probe(), CfiError::none);
  for (const int chip : {0, 1}) {
    for (const std::uint32_t word : {0x10U, 0x13U, 0x27U, 0x2AU, 0x2CU, 0x2DU, 0x2FU, 0x30U}) {
      test::CfiModel other;
      other.chips[chip].set_query(word, 7);
      EXPECT_EQ(CfiFlash(other.bus()).probe(), CfiError::unknown_chip) << chip << " " << word;
      EXPECT_TRUE(other.reads_as_memory());
    }
  }
}

TEST_F(CfiFlashTest, whatIsProgrammedIsReadAtAnyAlignment) {
  const Bytes bytes = random_bytes(5000, 1);
  const std::uint32_t at = 3 * sector + 2044;
  ASSERT_EQ(program(at, bytes), CfiError::none);
  EXPECT_EQ(read(at, bytes.size()), bytes);
  for (std::uint32_t from = 0; from < 9; ++from) {
    for (std::uint32_t size = 0; size < 9; ++size) {
      EXPECT_EQ(read(at + from, size), Bytes(bytes.begin() + from, bytes.begin() + from + size));
    }
  }
  EXPECT_EQ(read(at - 4, 4), Bytes(4, 0xFF));
  EXPECT_EQ(read(at + 5000, 4), Bytes(4, 0xFF));
  // 4 bytes to the first boundary of a buffer, two whole ones, and the rest.
  EXPECT_EQ(programs(), 4);
}

TEST_F(CfiFlashTest, aWriteNeverCrossesABufferBoundary) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t at = random() % (4 * sector) / 4 * 4;
    const Bytes bytes = random_bytes(random() % 9000 / 4 * 4, i);
    ASSERT_EQ(flash_.erase(at / sector * sector), CfiError::none);
    ASSERT_EQ(flash_.erase(at / sector * sector + sector), CfiError::none);
    // The model refuses a buffer over a boundary.
    ASSERT_EQ(program(at, bytes), CfiError::none) << at << " " << bytes.size();
    ASSERT_EQ(read(at, bytes.size()), bytes);
  }
}

TEST_F(CfiFlashTest, erasesOneSectorAndNoOther) {
  for (std::uint32_t s = 0; s < 3; ++s) {
    ASSERT_EQ(program(s * sector, Bytes(4, 0)), CfiError::none);
    ASSERT_EQ(program((s + 1) * sector - 4, Bytes(4, 0)), CfiError::none);
  }
  ASSERT_EQ(flash_.erase(sector), CfiError::none);
  EXPECT_EQ(read(sector - 4, 8), (Bytes{0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF}));
  EXPECT_EQ(read(2 * sector - 4, 8), (Bytes{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}));
}

TEST_F(CfiFlashTest, clearsBitsAndRefusesToSetThem) {
  ASSERT_EQ(program(0, {0xFF, 0xF0, 0x00, 0xFF}), CfiError::none);
  // Fewer bits, in the same place: that is what the chip can do.
  ASSERT_EQ(program(0, {0x7F, 0x10, 0x00, 0xFE}), CfiError::none);
  EXPECT_EQ(read(0, 4), (Bytes{0x7F, 0x10, 0x00, 0xFE}));
  const int before = programs();
  for (std::size_t bit = 0; bit < 32; ++bit) {
    Bytes bytes = {0x7F, 0x10, 0x00, 0xFE};
    if ((bytes[bit / 8] >> bit % 8 & 1) != 0) continue;
    bytes[bit / 8] |= static_cast<std::uint8_t>(1 << bit % 8);
    EXPECT_EQ(program(0, bytes), CfiError::not_erased) << bit;
  }
  // Nothing of it is written when the last word would set a bit.
  Bytes many(6000, 0x55);
  ASSERT_EQ(program(sector + 5996, Bytes(4, 0)), CfiError::none);
  EXPECT_EQ(program(sector, many), CfiError::not_erased);
  EXPECT_EQ(read(sector, 5996), Bytes(5996, 0xFF));
  EXPECT_EQ(programs(), before + 1);
}

TEST_F(CfiFlashTest, refusesWhatIsNotInWholeWordsOrSectorsOrOnTheChips) {
  const std::uint32_t end = CfiFlash::chip_bytes;
  std::uint8_t bytes[8] = {};
  EXPECT_EQ(flash_.erase(4), CfiError::range);
  EXPECT_EQ(flash_.erase(sector / 2), CfiError::range);
  EXPECT_EQ(flash_.erase(end), CfiError::range);
  EXPECT_EQ(flash_.erase(0xFFFF'FFFF / sector * sector), CfiError::range);
  EXPECT_EQ(flash_.program(2, bytes, 4), CfiError::range);
  EXPECT_EQ(flash_.program(0, bytes, 3), CfiError::range);
  EXPECT_EQ(flash_.program(end - 4, bytes, 8), CfiError::range);
  EXPECT_EQ(flash_.program(0xFFFF'FFFC, bytes, 8), CfiError::range);
  EXPECT_EQ(flash_.read(end - 4, bytes, 5), CfiError::range);
  EXPECT_EQ(flash_.read(0xFFFF'FFFF, bytes, 2), CfiError::range);
  EXPECT_EQ(erases() + programs(), 0);
  EXPECT_EQ(flash_.read(end - 4, bytes, 4), CfiError::none);
  EXPECT_EQ(flash_.program(end - 4, bytes, 4), CfiError::none);
  EXPECT_EQ(flash_.erase(end - sector), CfiError::none);
}

TEST_F(CfiFlashTest, saysWhatAChipsStatusSaysAndTheNextCommandIsNotBlamed) {
  const struct {
    std::uint8_t bits;
    CfiError error;
  } cases[] = {{0x20, CfiError::erase},   {0x10, CfiError::program}, {0x30, CfiError::sequence},
               {0x18, CfiError::voltage}, {0x28, CfiError::voltage}, {0x12, CfiError::locked},
               {0x22, CfiError::locked}};
  for (const auto& c : cases) {
    for (const int chip : {0, 1}) {
      model_.chips[chip].fail_next(c.bits);
      EXPECT_EQ(flash_.erase(0), c.error) << int{c.bits};
      EXPECT_TRUE(model_.reads_as_memory());
      EXPECT_EQ(flash_.erase(0), CfiError::none);
      model_.chips[chip].fail_next(c.bits);
      EXPECT_EQ(program(0, Bytes(4, 0)), c.error) << int{c.bits};
      EXPECT_TRUE(model_.reads_as_memory());
      EXPECT_EQ(flash_.erase(0), CfiError::none);
      EXPECT_EQ(program(0, Bytes(4, 0)), CfiError::none);
    }
  }
}

// One chip erases and the other one programs badly: neither is a bad sequence.
TEST_F(CfiFlashTest, theTwoChipsStatusIsNotMixed) {
  model_.chips[0].fail_next(0x20);
  model_.chips[1].fail_next(0x10);
  EXPECT_EQ(flash_.erase(0), CfiError::erase);
}

TEST_F(CfiFlashTest, aProgramThatFailsEndsTheRest) {
  model_.chips[1].fail_next(0x10);
  EXPECT_EQ(program(0, Bytes(3 * CfiFlash::buffer_bytes, 0)), CfiError::program);
  EXPECT_EQ(programs(), 1);
}

TEST_F(CfiFlashTest, waitsForTheSlowerChipAndNotForEver) {
  model_.chips[0].set_busy_reads(1);
  model_.chips[1].set_busy_reads(90);
  EXPECT_EQ(flash_.erase(0), CfiError::none);
  EXPECT_EQ(program(0, Bytes(8, 0x12)), CfiError::none);
  EXPECT_EQ(read(0, 8), Bytes(8, 0x12));
}

// A chip that is busy does not listen to "read array" either: it is told again when it is read.
TEST_F(CfiFlashTest, aChipThatHangsIsATimeoutAndReadsAsMemoryWhenItIsBack) {
  for (const int chip : {0, 1}) {
    ASSERT_EQ(flash_.erase(0), CfiError::none);
    ASSERT_EQ(program(0, {1, 2, 3, 4}), CfiError::none);
    for (const bool by_erase : {true, false}) {
      model_.chips[chip].hang(true);
      const std::uint32_t begin = model_.now_ms;
      EXPECT_EQ(by_erase ? flash_.erase(sector) : program(sector, Bytes(4, 0)), CfiError::timeout);
      EXPECT_GE(model_.now_ms - begin,
                by_erase ? CfiFlash::erase_timeout_ms : CfiFlash::program_timeout_ms);
      model_.chips[chip].hang(false);
      EXPECT_EQ(read(0, 4), (Bytes{1, 2, 3, 4})) << chip;
    }
    EXPECT_EQ(flash_.erase(sector), CfiError::none);
    EXPECT_EQ(program(sector, Bytes(4, 0)), CfiError::none);
  }
}

TEST_F(CfiFlashTest, theCoreSeesErrorsAsFalse) {
  const Flash chip = flash_.chip();
  std::uint8_t word[4] = {1, 2, 3, 4};
  EXPECT_EQ(chip.sector_bytes, sector);
  EXPECT_TRUE(chip.erase(chip.context, sector));
  EXPECT_TRUE(chip.program(chip.context, sector, word, 4));
  std::uint8_t read[4] = {};
  EXPECT_TRUE(chip.read(chip.context, sector, read, 4));
  EXPECT_EQ(read[2], 3);
  word[0] = 0xFF;
  EXPECT_FALSE(chip.program(chip.context, sector, word, 4));
  EXPECT_FALSE(chip.read(chip.context, CfiFlash::chip_bytes, read, 4));
  model_.chips[1].fail_next(0x20);
  EXPECT_FALSE(chip.erase(chip.context, sector));
}

}  // namespace
}  // namespace assay::firmware::device::qemu_virt
