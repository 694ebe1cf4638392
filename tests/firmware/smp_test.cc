// The management protocol on a serial console: published frames, the client against the reference
// firmware, and lines that break.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "firmware/device/cbor.h"
#include "firmware/serial/at_client.h"
#include "firmware/serial/smp_client.h"
#include "firmware/serial/smp_frame.h"
#include "firmware/serial/ymodem_sender.h"
#include "firmware/update/board_client.h"
#include "tests/base/scratch.h"
#include "tests/firmware/bytes.h"
#include "tests/firmware/firmware_image.h"
#include "tests/firmware/pseudo_terminal.h"

namespace assay::firmware {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Packets and their frames as another implementation of the protocol writes them.
struct Published {
  Bytes packet;
  std::string frame;
};
const Published published[] = {
    // echo "hi", sequence 0
    {{0x02, 0x00, 0x00, 0x06, 0, 0, 0, 0, 0xA1, 0x61, 0x64, 0x62, 0x68, 0x69},
     "\x06\x09"
     "ABACAAAGAAAAAKFhZGJoaQkX\n"},
    // reset, sequence 1
    {{0x02, 0x00, 0x00, 0x01, 0, 0, 1, 5, 0xA0},
     "\x06\x09"
     "AAsCAAABAAABBaD+6A==\n"},
    // list of images, sequence 2
    {{0x00, 0x00, 0x00, 0x01, 0, 1, 2, 0, 0xA0},
     "\x06\x09"
     "AAsAAAABAAECAKDong==\n"}};

std::vector<Bytes> read_all(SmpFrameReader& reader, const std::string& text) {
  std::vector<Bytes> packets;
  for (const char c : text) {
    if (auto packet = reader.feed(static_cast<std::uint8_t>(c))) packets.push_back(*packet);
  }
  return packets;
}

Bytes some_bytes(std::size_t size) {
  Bytes bytes(size);
  std::mt19937 random(static_cast<unsigned>(size));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

TEST(SmpFrame, agreesWithThePublishedOnes) {
  for (const auto& one : published) {
    EXPECT_EQ(encode_smp_frame(one.packet), one.frame);
    SmpFrameReader reader;
    EXPECT_THAT(read_all(reader, one.frame), ElementsAre(one.packet));
  }
}

TEST(SmpFrame, anyLengthReadsBackInLinesOfAtMost127Bytes) {
  SmpFrameReader reader;
  for (std::size_t size = 1; size < 1500; size += size < 300 ? 1 : 37) {
    const Bytes packet = some_bytes(size);
    const std::string frame = encode_smp_frame(packet);
    for (std::size_t at = 0; at < frame.size();) {
      const std::size_t end = frame.find('\n', at) + 1;
      EXPECT_LE(end - at, 127u);
      at = end;
    }
    EXPECT_THAT(read_all(reader, frame), ElementsAre(packet)) << size;
  }
}

TEST(SmpFrame, otherTextBetweenItsLinesIsPassedOver) {
  const Bytes packet = some_bytes(300);
  std::string frame = encode_smp_frame(packet);
  for (std::size_t at = 0; (at = frame.find('\n', at)) != std::string::npos;) {
    const std::string log = "[00:01] link: training\r\n";
    frame.insert(at + 1, log);
    at += 1 + log.size();
  }
  SmpFrameReader reader;
  EXPECT_THAT(read_all(reader, "boot> \r\nprompt$ " + frame), ElementsAre(packet));
}

TEST(SmpFrame, aDamagedOneIsNoPacketAndTheNextIsRead) {
  const Bytes packet = some_bytes(200);
  const std::string frame = encode_smp_frame(packet);
  for (std::size_t i = 0; i + 1 < frame.size(); ++i) {
    if (frame[i] == '\n' || frame[i] == '=') continue;
    std::string damaged = frame;
    damaged[i] = damaged[i] == 'A' ? 'B' : 'A';
    SmpFrameReader reader;
    for (const Bytes& read : read_all(reader, damaged)) EXPECT_EQ(read, packet) << i;
    EXPECT_THAT(read_all(reader, frame), ElementsAre(packet)) << i;
  }
}

TEST(Cbor, readsWhatAnotherLibraryWrites) {
  const Bytes data = some_bytes(300);
  const json body{{"a", {1, {{"off", 7}}, "x"}},
                  {"data", json::binary(data)},
                  {"f", 1.5},
                  {"len", 70000},
                  {"n", -3},
                  {"off", 12},
                  {"t", "text"},
                  {"yes", true}};
  const Bytes bytes = json::to_cbor(body);
  device::CborReader reader(bytes.data(), bytes.size());
  device::CborValue value;
  ASSERT_TRUE(reader.find("off", &value));
  EXPECT_EQ(value.number, 12u);
  ASSERT_TRUE(reader.find("len", &value));
  EXPECT_EQ(value.number, 70000u);
  ASSERT_TRUE(reader.find("data", &value));
  EXPECT_EQ(Bytes(value.data, value.data + value.size), data);
  ASSERT_TRUE(reader.find("yes", &value));
  EXPECT_EQ(value.type, device::CborValue::Type::boolean);
  EXPECT_EQ(value.number, 1u);
  ASSERT_TRUE(reader.find("n", &value));
  EXPECT_EQ(value.type, device::CborValue::Type::other);
  ASSERT_TRUE(reader.find("missing", &value));
  EXPECT_EQ(value.type, device::CborValue::Type::none);
  // Cut anywhere it is no map, and nothing is read beyond its end.
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    device::CborReader half(cut.data(), cut.size());
    EXPECT_FALSE(half.find("yes", &value)) << size;
  }
}

TEST(Cbor, indefiniteLengthsAreSteppedOver) {
  // {_ "a": [_ 1, 2], "b": (_ h'01', h'02'), "c": 5 }
  const Bytes bytes{0xBF, 0x61, 'a',  0x9F, 1,    2,    0xFF, 0x61, 'b', 0x5F,
                    0x41, 1,    0x41, 2,    0xFF, 0x61, 'c',  5,    0xFF};
  device::CborReader reader(bytes.data(), bytes.size());
  device::CborValue value;
  ASSERT_TRUE(reader.find("c", &value));
  EXPECT_EQ(value.number, 5u);
}

TEST(Cbor, anotherLibraryReadsWhatIsWritten) {
  std::uint8_t out[256];
  device::CborWriter writer(out, sizeof out);
  writer.map(3);
  writer.text("n");
  writer.array(4);
  for (const std::uint32_t n : {23U, 24U, 256U, 65536U}) writer.number(n);
  writer.text("b");
  writer.bytes(reinterpret_cast<const std::uint8_t*>("\x01\x02"), 2);
  writer.text("f");
  writer.boolean(false);
  ASSERT_TRUE(writer.fits());
  const json read = json::from_cbor(out, out + writer.size());
  EXPECT_EQ(read["n"], json({23, 24, 256, 65536}));
  EXPECT_EQ(read["b"].get_binary(), json::binary_t({1, 2}));
  EXPECT_EQ(read["f"], false);
  device::CborWriter small(out, 3);
  small.text("long");
  EXPECT_FALSE(small.fits());
}

class Smp : public testing::Test {
 protected:
  void power_on() {
    process_.emplace(std::vector<std::string>{"--flash", folder_ / "chip", "--board", "board-a"});
    transport_ = std::move(*open_transport(process_->path(), 115200));
    client_.emplace(*transport_);
  }
  test::Scratch folder_;
  std::optional<FirmwareProcess> process_;
  std::unique_ptr<Transport> transport_;
  std::optional<SmpClient> client_;
};

Bytes hash_of(const Bytes& image) {
  device::ImageHeader header;
  EXPECT_EQ(device::parse_image_header(image.data(), &header), device::HeaderError::none);
  return {header.sha256, header.sha256 + 32};
}

TEST_F(Smp, echoesBesideTheAtCommands) {
  power_on();
  EXPECT_EQ(client_->echo("hello").value(), "hello");
  AtClient at(*transport_);
  EXPECT_TRUE(at.query_version());
  EXPECT_EQ(client_->echo(std::string(500, 'x')).value(), std::string(500, 'x'));
}

TEST_F(Smp, anImageIsUploadedTriedAndKept) {
  power_on();
  EXPECT_THAT(client_->images().value(), SizeIs(0));
  const Bytes image = test::firmware_image("2.3.1", 100'000, "board-a");
  std::uint64_t last = 0;
  ASSERT_TRUE(client_->upload(image, [&](std::uint64_t sent) { last = sent; }));
  EXPECT_EQ(last, image.size());
  auto images = client_->images().value();
  ASSERT_THAT(images, SizeIs(1));
  EXPECT_EQ(images[0].version, "2.3.1");
  EXPECT_EQ(images[0].hash, hash_of(image));
  EXPECT_TRUE(images[0].pending);
  EXPECT_FALSE(images[0].active);
  ASSERT_TRUE(client_->test(hash_of(image)));
  ASSERT_TRUE(client_->reset());
  images = client_->images().value();
  ASSERT_THAT(images, SizeIs(1));
  EXPECT_TRUE(images[0].active);
  EXPECT_FALSE(images[0].confirmed);
  ASSERT_TRUE(client_->confirm());
  EXPECT_TRUE(client_->images().value()[0].confirmed);
}

TEST_F(Smp, anUploadThatBrokeOffGoesOnWhereItWas) {
  power_on();
  const Bytes image = test::firmware_image("2.3.1", 200'000, "board-a");
  CancelToken stop;
  SmpClient first(*transport_, {.cancel = &stop});
  const auto broken = first.upload(image, [&](std::uint64_t sent) {
    if (sent > 100'000) stop.cancel();
  });
  ASSERT_FALSE(broken);
  std::vector<std::uint64_t> offsets;
  ASSERT_TRUE(client_->upload(image, [&](std::uint64_t sent) { offsets.push_back(sent); }));
  ASSERT_FALSE(offsets.empty());
  EXPECT_GT(offsets.front(), 100'000u);
  EXPECT_TRUE(client_->test(hash_of(image)));
  // Another image begins at its own beginning.
  const Bytes other = test::firmware_image("2.4.0", 50'000, "board-a");
  ASSERT_TRUE(client_->upload(other));
  EXPECT_TRUE(client_->test(hash_of(other)));
}

// The same payload in another image: what came of the first is not the beginning of the second.
TEST_F(Smp, anUploadIsNotGoneOnWithInAnotherFile) {
  power_on();
  const Bytes first = test::firmware_image("2.3.1", 200'000, "board-a");
  Bytes second = first;
  device::ImageHeader header;
  ASSERT_EQ(parse_image_header(second.data(), &header), device::HeaderError::none);
  std::strcpy(header.version, "2.6.0");
  write_image_header(header, second.data());
  CancelToken stop;
  SmpClient broken(*transport_, {.cancel = &stop});
  ASSERT_FALSE(broken.upload(first, [&](std::uint64_t sent) {
    if (sent > 100'000) stop.cancel();
  }));
  std::vector<std::uint64_t> offsets;
  ASSERT_TRUE(client_->upload(second, [&](std::uint64_t sent) { offsets.push_back(sent); }));
  EXPECT_LT(offsets.front(), 10'000u);
  const auto images = client_->images().value();
  EXPECT_TRUE(std::any_of(images.begin(), images.end(), [](const SmpImage& image) {
    return image.pending && image.version == "2.6.0";
  }));
}

TEST_F(Smp, anUploadIsNotGoneOnWithInWhatCameByYmodemMeanwhile) {
  power_on();
  const Bytes image = test::firmware_image("2.3.1", 200'000, "board-a");
  const Bytes other = test::firmware_image("2.4.0", 200'000, "board-a");
  CancelToken stop;
  SmpClient broken(*transport_, {.cancel = &stop});
  ASSERT_FALSE(broken.upload(image, [&](std::uint64_t sent) {
    if (sent > 100'000) stop.cancel();
  }));
  CancelToken again;
  AtClient at(*transport_);
  ASSERT_TRUE(order(at, "AT+UPDATE"));
  ASSERT_FALSE(send_file(*transport_, "npu.bin", other,
                         {.cancel = &again, .on_progress = [&](std::uint64_t sent) {
                            if (sent > 120'000) again.cancel();
                          }}));
  ASSERT_TRUE(AtClient(*transport_).query_version());
  ASSERT_TRUE(client_->upload(image));
  EXPECT_TRUE(client_->test(hash_of(image)));
}

TEST_F(Smp, whatTheBoardRefusesIsSaidInWords) {
  power_on();
  const Bytes image = test::firmware_image("2.3.1", 50'000, "board-b");
  const auto refused = client_->upload(image);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::protocol);
  EXPECT_THAT(refused.error().what, HasSubstr("BOARD"));
  EXPECT_THAT(client_->test(Bytes(32, 1)).error().what, HasSubstr("no such entry"));
  EXPECT_FALSE(client_->confirm());
}

TEST_F(Smp, aDamagedImageIsNeverTried) {
  power_on();
  Bytes image = test::firmware_image("2.3.1", 50'000, "board-a");
  image.back() ^= 1;
  const auto refused = client_->upload(image);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("HASH"));
  EXPECT_THAT(client_->images().value(), SizeIs(0));
}

}  // namespace
}  // namespace assay::firmware
