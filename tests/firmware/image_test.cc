// Firmware images as files: what is refused, and in which words; signatures against OpenSSL's own
// tool.
#include "firmware/image/firmware_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "firmware/image/signature.h"
#include "firmware/update/guards.h"
#include "tests/base/scratch.h"

namespace assay::firmware {
namespace {

using testing::HasSubstr;
using testing::Not;

const ImageIdentity identity{"board-a", "2.3.1", 7};

std::vector<std::uint8_t> some_bytes(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  return bytes;
}

FirmwareImage packed(const ImageIdentity& as = identity, std::size_t size = 5000) {
  auto image = pack_image(some_bytes(size), as);
  EXPECT_TRUE(image) << image.error().text();
  return *image;
}

Error error_of(const std::vector<std::uint8_t>& bytes) {
  const auto image = parse_image(bytes, "f.bin");
  EXPECT_FALSE(image);
  return image ? Error{} : image.error();
}

TEST(FirmwareImage, whatIsPackedReadsBack) {
  const auto image = packed();
  const auto read = parse_image(image.bytes, "f.bin");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_STREQ(read->header.board, "board-a");
  EXPECT_EQ(read->version.text(), "2.3.1");
  EXPECT_EQ(read->header.security_counter, 7u);
  EXPECT_TRUE(std::ranges::equal(read->payload(), some_bytes(5000)));
  EXPECT_EQ(read->signature().size(), 0u);
}

TEST(FirmwareImage, theHashIsThatOfSha256sum) {
  // FIPS 180-2, appendix B.1: "abc".
  const auto image = pack_image(std::vector<std::uint8_t>{'a', 'b', 'c'}, identity);
  ASSERT_TRUE(image);
  EXPECT_EQ(image->sha256_text(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(FirmwareImage, everyLengthButTheRightOneIsRefused) {
  auto bytes = packed(identity, 300).bytes;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(error_of({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}).kind,
              ErrorKind::bad_file)
        << size;
  }
  bytes.push_back(0);
  EXPECT_THAT(error_of(bytes).what, HasSubstr("is too long: 557 bytes, and its header says 556"));
}

TEST(FirmwareImage, anyFlippedBitIsSeen) {
  const auto image = packed(identity, 64).bytes;
  for (std::size_t bit = 0; bit < image.size() * 8; ++bit) {
    auto bytes = image;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    EXPECT_FALSE(parse_image(bytes, "f.bin")) << bit;
  }
}

TEST(FirmwareImage, errorsSayWhatIsWrongInOneLine) {
  const auto image = packed().bytes;
  EXPECT_EQ(error_of({}).text(), "f.bin: is empty; get the file again");
  EXPECT_THAT(error_of(some_bytes(5000)).text(), HasSubstr("is no firmware image"));
  EXPECT_THAT(error_of(some_bytes(5000)).text(), HasSubstr("assay fw pack"));
  EXPECT_THAT(error_of({image.begin(), image.end() - 1}).what, HasSubstr("is cut off"));
  auto flipped = image;
  flipped.back() ^= 1;
  EXPECT_THAT(error_of(flipped).what, HasSubstr("SHA-256"));
}

TEST(FirmwareImage, aDamagedOneIsStillOneOfOurs) {
  auto bytes = packed().bytes;
  bytes[50] ^= 1;
  EXPECT_FALSE(parse_image(bytes, "f.bin"));
  EXPECT_TRUE(begins_as_image(bytes));
  // Cut off, within its header too.
  for (const std::size_t size : {5000U, 256U, 255U, 4U}) {
    EXPECT_TRUE(begins_as_image(std::span(bytes).first(std::min<std::size_t>(size, bytes.size()))));
  }
  EXPECT_THAT(error_of({bytes.begin(), bytes.begin() + 100}).what, HasSubstr("is cut off"));
  EXPECT_FALSE(begins_as_image(std::span(bytes).first(3)));
  bytes[0] ^= 1;
  EXPECT_FALSE(begins_as_image(bytes));
  EXPECT_FALSE(begins_as_image({}));
}

TEST(FirmwareImage, whatIsNoFileOfTheRightSizeIsRefusedUnread) {
  const test::Scratch folder;
  EXPECT_EQ(read_image(folder / "missing").error().kind, ErrorKind::bad_file);
  EXPECT_EQ(read_image(folder / "").error().kind, ErrorKind::bad_file);
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_image(folder / "fifo").error().kind, ErrorKind::bad_file);
  std::ofstream(folder / "large").put('A');
  ASSERT_EQ(truncate((folder / "large").c_str(), off_t{2} << 30), 0);
  const auto large = read_image(folder / "large");
  EXPECT_EQ(large.error().kind, ErrorKind::bad_file) << large.error().text();
}

TEST(FirmwareImage, identitiesThatNoHeaderHoldsAreRefused) {
  const auto payload = some_bytes(10);
  EXPECT_FALSE(pack_image(payload, {"", "2.3.1"}));
  EXPECT_FALSE(pack_image(payload, {std::string(33, 'b'), "2.3.1"}));
  EXPECT_TRUE(pack_image(payload, {std::string(32, 'b'), "2.3.1"}));
  EXPECT_FALSE(pack_image(payload, {"a b", "2.3.1"}));
  EXPECT_FALSE(pack_image(payload, {"board", "2.3"}));
  EXPECT_FALSE(pack_image(payload, {"board", "2.3.1-" + std::string(43, 'a')}));
  EXPECT_TRUE(pack_image(payload, {"board", "2.3.1-" + std::string(42, 'a')}));
  EXPECT_FALSE(pack_image({}, identity));
}

class Signature : public testing::Test {
 protected:
  // A key by OpenSSL's tool, as a person would make it.
  std::string key(const std::string& algorithm = "ed25519") {
    const std::string path = folder_ / "key.pem";
    EXPECT_EQ(
        system(
            ("openssl genpkey -algorithm " + algorithm + " -out " + path + " 2>/dev/null").c_str()),
        0);
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  test::Scratch folder_;
};

TEST_F(Signature, theRightKeyVerifiesAndNoOther) {
  const std::string mine = key();
  const std::string other = key();
  const auto image = sign_image(packed(), mine);
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_EQ(image->signature().size(), 64u);
  ASSERT_TRUE(parse_image(image->bytes, "f.bin"));
  EXPECT_TRUE(verify_image(*image, *public_key_of(mine)));
  EXPECT_THAT(verify_image(*image, *public_key_of(other)).error().what,
              HasSubstr("is not by this key"));
  EXPECT_THAT(verify_image(packed(), *public_key_of(mine)).error().what, HasSubstr("not signed"));
  // Signed again by another: the first signature is gone.
  const auto again = sign_image(*image, other);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->bytes.size(), image->bytes.size());
  EXPECT_FALSE(verify_image(*again, *public_key_of(mine)));
  EXPECT_TRUE(verify_image(*again, *public_key_of(other)));
}

TEST_F(Signature, opensslsOwnToolAgrees) {
  const std::string mine = key();
  const auto image = sign_image(packed(), mine);
  ASSERT_TRUE(image);
  const auto write = [&](const char* name, std::span<const std::uint8_t> bytes) {
    std::ofstream(folder_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  };
  write("header", std::span(image->bytes).first(device::image_header_bytes));
  write("signature", image->signature());
  EXPECT_EQ(system(("openssl pkeyutl -verify -rawin -inkey " + (folder_ / "key.pem") + " -in " +
                    (folder_ / "header") + " -sigfile " + (folder_ / "signature") + " >/dev/null")
                       .c_str()),
            0);
}

TEST_F(Signature, aChangedHeaderIsNotCoveredByIt) {
  const std::string mine = key();
  auto image = *sign_image(packed(), mine);
  image.header.security_counter += 1;
  device::write_image_header(image.header, image.bytes.data());
  ASSERT_TRUE(parse_image(image.bytes, "f.bin"));
  EXPECT_FALSE(verify_image(image, *public_key_of(mine)));
}

TEST_F(Signature, otherKeysAreRefusedInWords) {
  EXPECT_EQ(sign_image(packed(), "nonsense").error().kind, ErrorKind::bad_file);
  EXPECT_EQ(sign_image(packed(), key("X25519")).error().kind, ErrorKind::bad_file);
  EXPECT_EQ(verify_image(*sign_image(packed(), key()), "AAAA").error().kind, ErrorKind::bad_file);
}

TEST(Guards, anImageForAnotherBoardIsRefused) {
  EXPECT_TRUE(check_image(packed(), {"board-a", ""}));
  const auto refused = check_image(packed(), {"board-b", ""});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().what, HasSubstr("is for the board \"board-a\""));
}

TEST_F(Signature, isAskedForWhenThePolicyHasAKey) {
  const std::string mine = key();
  EXPECT_FALSE(check_image(packed(), {"board-a", *public_key_of(mine)}));
  EXPECT_TRUE(check_image(*sign_image(packed(), mine), {"board-a", *public_key_of(mine)}));
}

TEST(Guards, ordersOfVersionsDecide) {
  const auto need = [](const char* image, const char* running, UpdatePolicy policy = {}) {
    return check_board(packed({"board-a", image, 0}), {*parse_semantic_version(running), {}},
                       policy);
  };
  EXPECT_EQ(need("2.3.1", "2.1.4-rc3"), UpdateNeed::update);
  EXPECT_EQ(need("2.1.4", "2.1.4-rc3"), UpdateNeed::update);
  EXPECT_EQ(need("2.10.0", "2.3.1"), UpdateNeed::update);
  EXPECT_EQ(need("2.3.1", "2.3.1"), UpdateNeed::same_version);
  const auto older = need("2.3.1", "2.10.0");
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().kind, ErrorKind::usage);
  EXPECT_THAT(older.error().hint, HasSubstr("--allow-downgrade"));
  EXPECT_EQ(need("2.3.1", "2.10.0", {.allow_downgrade = true}), UpdateNeed::update);
}

TEST(Guards, aHotBoardIsLeftAlone) {
  const auto image = packed();
  const UpdatePolicy limit{.temperature_limit_mc = 85'000};
  BoardState board{*parse_semantic_version("2.0.0"), 84'999};
  EXPECT_TRUE(check_board(image, board, limit));
  board.temperature_mc = 85'000;
  const auto hot = check_board(image, board, limit);
  ASSERT_FALSE(hot);
  EXPECT_EQ(hot.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(hot.error().what, HasSubstr("85.0 C"));
  // Nothing to do is nothing to fear.
  board.version = image.version;
  EXPECT_EQ(check_board(image, board, limit), UpdateNeed::same_version);
}

}  // namespace
}  // namespace assay::firmware
