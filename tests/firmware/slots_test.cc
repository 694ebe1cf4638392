#include "firmware/device/slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "firmware/device/bytes.h"
#include "firmware/device/checksum.h"
#include "firmware/device/sha256.h"
#include "tests/firmware/bytes.h"
#include "tests/firmware/firmware_image.h"
#include "tests/firmware/nor_flash.h"

namespace assay::firmware::device {
namespace {

using test::NorFlash;

constexpr std::uint32_t sector = 256;
constexpr FlashLayout layout{{0, sector}, {2 * sector, 18 * sector}, 16 * sector};
constexpr std::uint32_t sectors = 34;

Bytes image(const std::string& version, std::uint32_t payload_bytes = 1001,
            const std::string& board = "m6", std::uint32_t counter = 1) {
  return test::firmware_image(version, payload_bytes, board, counter);
}

UpdateError update(Slots& slots, const Bytes& bytes, std::size_t piece = 128) {
  if (const auto error = slots.begin_update(); error != UpdateError::none) return error;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const auto size = static_cast<std::uint32_t>(std::min(piece, bytes.size() - at));
    if (const auto error = slots.write(bytes.data() + at, size); error != UpdateError::none) {
      return error;
    }
  }
  return slots.finish_update();
}

class SlotsTest : public testing::Test {
 protected:
  Slots make() { return {flash_.chip(), layout, "m6"}; }
  std::string version(const Slots& slots) {
    ImageHeader header;
    if (slots.running() == no_slot || !slots.image_in(slots.running(), &header)) return "none";
    return header.version;
  }
  // A chip that runs this version, confirmed.
  void factory(const std::string& v) {
    Slots slots = make();
    slots.boot();
    ASSERT_EQ(update(slots, image(v)), UpdateError::none);
    slots = make();
    slots.boot();
    ASSERT_TRUE(slots.confirm());
  }
  std::string boot_version() {
    Slots slots = make();
    slots.boot();
    return version(slots);
  }
  NorFlash flash_{sectors, sector};
};

TEST_F(SlotsTest, anEmptyChipRunsNothingAndTakesAnImage) {
  EXPECT_EQ(boot_version(), "none");
  factory("1.0.0");
  EXPECT_EQ(boot_version(), "1.0.0");
}

TEST_F(SlotsTest, aNewImageIsTriedOnceAndGoesWithoutConfirmation) {
  factory("1.0.0");
  Slots slots = make();
  slots.boot();
  ASSERT_EQ(update(slots, image("1.1.0")), UpdateError::none);
  EXPECT_EQ(version(slots), "1.0.0") << "until the next boot";
  slots = make();
  slots.boot();
  EXPECT_EQ(version(slots), "1.1.0");
  EXPECT_TRUE(slots.on_trial());
  slots = make();
  slots.boot();
  EXPECT_EQ(version(slots), "1.0.0");
  EXPECT_TRUE(slots.reverted());
  EXPECT_EQ(boot_version(), "1.0.0");
}

TEST_F(SlotsTest, aConfirmedImageStays) {
  factory("1.0.0");
  Slots slots = make();
  slots.boot();
  ASSERT_EQ(update(slots, image("1.1.0")), UpdateError::none);
  slots = make();
  slots.boot();
  EXPECT_TRUE(slots.confirm());
  EXPECT_FALSE(slots.on_trial());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(boot_version(), "1.1.0");
}

TEST_F(SlotsTest, onTrialTheOnlyGoodImageIsNotTouched) {
  factory("1.0.0");
  Slots slots = make();
  slots.boot();
  ASSERT_EQ(update(slots, image("1.1.0")), UpdateError::none);
  slots = make();
  slots.boot();
  ASSERT_TRUE(slots.on_trial());
  const Bytes before = flash_.bytes();
  EXPECT_EQ(update(slots, image("1.2.0")), UpdateError::state);
  EXPECT_EQ(flash_.bytes(), before);
}

// With nothing to go back to it runs on, but nobody has confirmed it; and the slot that holds no
// whole image may be written.
TEST_F(SlotsTest, aTrialWithNothingToGoBackToStaysATrial) {
  factory("1.0.0");
  Slots slots = make();
  const std::uint8_t old = slots.boot();
  ASSERT_EQ(update(slots, image("1.1.0")), UpdateError::none);
  ASSERT_TRUE(flash_.chip().erase(flash_.chip().context, layout.slots[old]));
  for (int boots = 0; boots < 3; ++boots) {
    slots = make();
    slots.boot();
    EXPECT_EQ(version(slots), "1.1.0");
    EXPECT_TRUE(slots.on_trial()) << boots;
    EXPECT_FALSE(slots.reverted());
  }
  ASSERT_EQ(update(slots, image("1.2.0")), UpdateError::none);
  EXPECT_EQ(boot_version(), "1.2.0");
  EXPECT_EQ(boot_version(), "1.1.0");
}

TEST_F(SlotsTest, refusesBeforeItErasesWhatItCannotRun) {
  factory("1.0.0");
  Bytes broken = image("2.0.0");
  broken[50] ^= 1;
  Bytes no_image(1000, 0x41);
  Bytes later = image("2.0.0");
  later[4] = 2;
  const struct {
    Bytes bytes;
    UpdateError error;
  } cases[] = {{broken, UpdateError::header},
               {no_image, UpdateError::header},
               {later, UpdateError::header},
               {image("2.0.0", 1000, "other"), UpdateError::board},
               {image("2.0.0", 16 * sector), UpdateError::size},
               {image("2.0.0", 1000, "m6", 0), UpdateError::rollback}};
  for (const auto& c : cases) {
    Slots slots = make();
    slots.boot();
    const Bytes before = flash_.bytes();
    EXPECT_EQ(update(slots, c.bytes), c.error) << to_text(c.error);
    EXPECT_EQ(flash_.bytes(), before) << to_text(c.error);
    EXPECT_EQ(slots.write(c.bytes.data(), 1), UpdateError::state);
  }
}

TEST_F(SlotsTest, aWrongPayloadOrLengthIsNeverBooted) {
  factory("1.0.0");
  Bytes flipped = image("2.0.0");
  flipped.back() ^= 0x10;
  Bytes shorter = image("2.0.0");
  shorter.pop_back();
  Bytes longer = image("2.0.0");
  longer.push_back(0);
  const struct {
    const Bytes& bytes;
    UpdateError error;
  } cases[] = {
      {flipped, UpdateError::hash}, {shorter, UpdateError::size}, {longer, UpdateError::size}};
  for (const auto& c : cases) {
    Slots slots = make();
    slots.boot();
    EXPECT_EQ(update(slots, c.bytes), c.error);
    EXPECT_EQ(boot_version(), "1.0.0");
  }
}

TEST_F(SlotsTest, takesAFileInPiecesOfAnySize) {
  factory("1.0.0");
  for (const std::uint32_t piece : {1U, 3U, 128U, 255U, 256U, 257U, 1024U, 100'000U}) {
    Slots slots = make();
    slots.boot();
    ASSERT_EQ(update(slots, image("1.0." + std::to_string(piece), 1000 + piece % 7), piece),
              UpdateError::none);
    slots = make();
    slots.boot();
    EXPECT_EQ(version(slots), "1.0." + std::to_string(piece));
    ASSERT_TRUE(slots.confirm());
  }
  EXPECT_FALSE(flash_.misused());
}

// The whole life of an update, cut at every operation of the flash and at several bytes in each:
// afterwards an image runs, old or new, and the next update goes through.
TEST_F(SlotsTest, anUnconfirmedTrialGoesBackToWhatRanWhateverAnOldRecordSays) {
  factory("1.0.0");
  {
    Slots slots = make();
    slots.boot();
    ASSERT_EQ(update(slots, image("2.0.0")), UpdateError::none);
  }
  Slots second = make();
  second.boot();
  ASSERT_TRUE(second.confirm());
  // The confirmed image is damaged, and that the other one runs now cannot be written down.
  flash_.bytes()[layout.slots[second.running()] + 500] ^= 0xFF;
  Slots slots = make();
  flash_.cut_after(0, 0);
  slots.boot();
  flash_.power_on();
  ASSERT_EQ(version(slots), "1.0.0");
  ASSERT_EQ(update(slots, image("3.0.0")), UpdateError::none);
  EXPECT_EQ(boot_version(), "3.0.0");
  EXPECT_EQ(boot_version(), "1.0.0");
}

TEST_F(SlotsTest, aPowerCutAnywhereLeavesAChipThatBootsAndCanBeUpdated) {
  factory("1.0.0");
  const Bytes fresh = flash_.bytes();
  const auto life = [&] {
    Slots slots = make();
    slots.boot();
    if (update(slots, image("1.1.0")) != UpdateError::none) return;
    slots = make();
    slots.boot();
    (void)slots.confirm();
  };
  const std::uint64_t before = flash_.operations();
  life();
  const std::uint64_t operations = flash_.operations() - before;
  ASSERT_GT(operations, 10U);
  std::map<std::string, int> booted;
  for (std::uint64_t operation = 0; operation < operations; ++operation) {
    for (const std::uint32_t bytes :
         {0U, 1U, 3U, 4U, 7U, 11U, 12U, 13U, 15U, 16U, 100U, 255U, 256U}) {
      flash_.bytes() = fresh;
      flash_.cut_after(operation, bytes);
      life();
      ASSERT_TRUE(flash_.dead());
      flash_.power_on();
      const std::string after = boot_version();
      ASSERT_TRUE(after == "1.0.0" || after == "1.1.0") << operation << " " << bytes << after;
      ++booted[after];
      // Booted again and again it settles, and takes another update.
      (void)boot_version();
      Slots slots = make();
      slots.boot();
      ASSERT_TRUE(slots.confirm());
      ASSERT_EQ(update(slots, image("1.2.0")), UpdateError::none) << operation << " " << bytes;
      ASSERT_EQ(boot_version(), "1.2.0") << operation << " " << bytes;
      ASSERT_FALSE(flash_.misused());
    }
  }
  // Both were seen: the cuts hit before and behind the point of no return.
  EXPECT_EQ(booted.size(), 2U);
}

TEST_F(SlotsTest, aSecondCutWhileItRecoversDoesNoHarmEither) {
  factory("1.0.0");
  const Bytes fresh = flash_.bytes();
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    flash_.bytes() = fresh;
    for (int cuts = 0; cuts < 4; ++cuts) {
      flash_.cut_after(random() % 25, static_cast<std::uint32_t>(random() % 257));
      Slots slots = make();
      slots.boot();
      (void)update(slots, image("1.1.0"));
      slots = make();
      slots.boot();
      (void)slots.confirm();
      flash_.power_on();
    }
    flash_.cut_after(UINT32_MAX, 0);
    const std::string after = boot_version();
    ASSERT_TRUE(after == "1.0.0" || after == "1.1.0") << i << after;
  }
}

// As write_boot_record() would have left it behind so many writes.
void number_copy(NorFlash& flash, int copy, std::uint32_t sequence) {
  std::uint8_t* const bytes = &flash.bytes()[layout.records[copy]];
  put32(bytes + 4, sequence);
  put32(bytes + 12, crc32(bytes, 12));
}

TEST(BootRecord, theNewestWholeCopyCountsAlsoWhenTheSequenceWraps) {
  NorFlash flash(sectors, sector);
  BootRecord record;
  EXPECT_FALSE(read_boot_record(flash.chip(), layout, &record));
  // Two copies, the newest numbers that there are.
  for (const std::uint8_t active : {std::uint8_t{0}, std::uint8_t{1}}) {
    record.active = active;
    ASSERT_TRUE(write_boot_record(flash.chip(), layout, record));
  }
  number_copy(flash, 0, 0xFFFF'FFFE);
  number_copy(flash, 1, 0xFFFF'FFFF);
  BootRecord read;
  ASSERT_TRUE(read_boot_record(flash.chip(), layout, &read));
  EXPECT_EQ(read.sequence, 0xFFFF'FFFF);
  EXPECT_EQ(read.active, 1);
  // Over the end, in both places.
  for (std::uint32_t i = 0; i < 4; ++i) {
    record.active = static_cast<std::uint8_t>(i % 2);
    ASSERT_TRUE(write_boot_record(flash.chip(), layout, record));
    ASSERT_TRUE(read_boot_record(flash.chip(), layout, &read));
    EXPECT_EQ(read.active, i % 2);
    EXPECT_EQ(read.sequence, i);
  }
  // Any damage to the newest copy brings back the one before.
  for (std::size_t at = 0; at < 16; ++at) {
    NorFlash damaged(sectors, sector);
    BootRecord old;
    ASSERT_TRUE(write_boot_record(damaged.chip(), layout, old));
    old.active = 1;
    ASSERT_TRUE(write_boot_record(damaged.chip(), layout, old));
    damaged.bytes()[layout.records[1] + at] ^= 0x20;
    ASSERT_TRUE(read_boot_record(damaged.chip(), layout, &read));
    EXPECT_EQ(read.active, 0) << at;
  }
}

// Nothing says which slot is the good one, so the images themselves do; and what runs is written
// down again.
TEST_F(SlotsTest, withBothRecordsDamagedWhateverIsWholeRuns) {
  factory("1.0.0");
  Slots slots = make();
  slots.boot();
  ASSERT_EQ(update(slots, image("1.1.0")), UpdateError::none);
  slots = make();
  const std::uint8_t newer = slots.boot();
  ASSERT_TRUE(slots.confirm());
  const Bytes both_whole = flash_.bytes();
  for (const std::uint8_t damaged : {no_slot, newer, static_cast<std::uint8_t>(1 - newer)}) {
    SCOPED_TRACE(static_cast<int>(damaged));
    flash_.bytes() = both_whole;
    for (const std::uint32_t copy : layout.records) flash_.bytes()[copy + 8] ^= 0x20;
    if (damaged != no_slot) flash_.bytes()[layout.slots[damaged] + 500] ^= 0x20;
    BootRecord record;
    ASSERT_FALSE(read_boot_record(flash_.chip(), layout, &record));
    slots = make();
    // Of two whole images the first slot's.
    const std::uint8_t runs = damaged == 0 ? 1 : 0;
    EXPECT_EQ(slots.boot(), runs);
    EXPECT_EQ(version(slots), runs == newer ? "1.1.0" : "1.0.0");
    EXPECT_FALSE(slots.on_trial());
    EXPECT_FALSE(slots.reverted());
    ASSERT_TRUE(read_boot_record(flash_.chip(), layout, &record));
    EXPECT_EQ(record.state, BootRecord::State::settled);
    EXPECT_EQ(record.active, runs);
    ASSERT_EQ(update(slots, image("1.2.0")), UpdateError::none);
    EXPECT_EQ(boot_version(), "1.2.0");
  }
  for (const std::uint32_t copy : layout.records) flash_.bytes()[copy + 8] ^= 0x20;
  for (const std::uint32_t slot : layout.slots) flash_.bytes()[slot + 500] ^= 0x20;
  EXPECT_EQ(boot_version(), "none");
}

TEST(Checksums, areThePublishedOnes) {
  const auto* digits = reinterpret_cast<const std::uint8_t*>("123456789");
  EXPECT_EQ(crc16_xmodem(digits, 9), 0x31C3);
  EXPECT_EQ(crc32(digits, 9), 0xCBF43926U);
  EXPECT_EQ(crc32(digits + 4, 5, crc32(digits, 4)), 0xCBF43926U);
  EXPECT_EQ(crc16_xmodem(digits + 4, 5, crc16_xmodem(digits, 4)), 0x31C3);
  const auto sha = [](const std::string& text, std::size_t times) {
    Sha256 hash;
    for (std::size_t i = 0; i < times; ++i) {
      hash.update(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
    std::uint8_t digest[32];
    hash.finish(digest);
    std::string hex;
    char two[3];
    for (const std::uint8_t byte : digest) {
      std::snprintf(two, sizeof two, "%02x", byte);
      hex += two;
    }
    return hex;
  };
  // FIPS 180-4 examples.
  EXPECT_EQ(sha("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha("abc", 1), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha(std::string(1000, 'a'), 1000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(ImageHeader, comesBackAndAnyChangedByteIsSeen) {
  const Bytes bytes = image("2.3.1-rc1", 5, "m6-mini", 7);
  ImageHeader header;
  ASSERT_EQ(parse_image_header(bytes.data(), &header), HeaderError::none);
  EXPECT_STREQ(header.board, "m6-mini");
  EXPECT_STREQ(header.version, "2.3.1-rc1");
  EXPECT_EQ(header.payload_bytes, 5U);
  EXPECT_EQ(header.security_counter, 7U);
  EXPECT_EQ(header.total_bytes(), 261U);
  std::uint8_t again[image_header_bytes];
  write_image_header(header, again);
  EXPECT_TRUE(std::equal(again, again + image_header_bytes, bytes.begin()));
  for (std::size_t i = 0; i < image_header_bytes; ++i) {
    for (const int bit : {0, 7}) {
      Bytes changed = bytes;
      changed[i] ^= static_cast<std::uint8_t>(1 << bit);
      EXPECT_NE(parse_image_header(changed.data(), &header), HeaderError::none) << i;
    }
  }
}

}  // namespace
}  // namespace assay::firmware::device
