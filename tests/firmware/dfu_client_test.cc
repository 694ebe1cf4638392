// The host's client against the device of firmware/device, which follows the specification to the
// letter: a client that asks too early, or for the wrong thing, is stalled.
#include "firmware/usb/dfu_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "firmware/usb/dfu_text.h"
#include "tests/firmware/bytes.h"
#include "tests/firmware/dfu_board.h"
#include "tests/firmware/firmware_image.h"
#include "tests/firmware/in_process_dfu.h"

namespace assay::firmware {
namespace {

using test::DfuBoard;
using test::InProcessDfu;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Bytes image(const std::string& version, std::uint32_t payload_bytes = 1000,
            const std::string& board = "m6", std::uint32_t counter = 1) {
  return test::firmware_image(version, payload_bytes, board, counter);
}

DfuFunctional functional(const device::DfuIdentity& identity) {
  std::uint8_t bytes[device::configuration_descriptor_bytes];
  device::write_configuration_descriptor(identity, true, bytes);
  const auto found = find_dfu_functional(std::span(bytes).subspan(18), "1209:a551");
  EXPECT_TRUE(found) << found.error().text();
  return found.value_or(DfuFunctional{});
}

device::DfuIdentity with(std::uint8_t more, std::uint16_t transfer_bytes = 256) {
  device::DfuIdentity identity = test::dfu_identity;
  identity.attributes = static_cast<std::uint8_t>(identity.attributes | more);
  identity.transfer_bytes = transfer_bytes;
  return identity;
}

// A board that runs 1.0.0, in DFU mode.
class DfuClientTest : public testing::Test {
 protected:
  explicit DfuClientTest(std::uint8_t more = 0)
      : board_(with(more)), wire_(board_), client_(wire_, functional(with(more))) {
    board_.install(image("1.0.0"));
    board_.enter_dfu_mode();
  }
  std::string other_version() { return board_.version_in(1 - board_.slots().running()); }
  std::string failure(const Result<DfuEnd>& result) {
    return result ? "no failure" : result.error().text();
  }

  DfuBoard board_;
  InProcessDfu wire_;
  DfuClient client_;
};

class TolerantDfuClient : public DfuClientTest {
 protected:
  TolerantDfuClient() : DfuClientTest(device::dfu_manifestation_tolerant) {}
};
class DetachingDfuClient : public DfuClientTest {
 protected:
  DetachingDfuClient() : DfuClientTest(device::dfu_will_detach) {}
};

TEST_F(DfuClientTest, writesAnImageWhichRunsBehindTheReset) {
  std::vector<std::uint64_t> progress;
  const auto end = client_.download(
      image("1.1.0"), {.on_progress = [&](std::uint64_t bytes) { progress.push_back(bytes); }});
  ASSERT_TRUE(end) << end.error().text();
  EXPECT_EQ(*end, DfuEnd::needs_reset);
  EXPECT_THAT(progress, ElementsAre(256, 512, 768, 1024, 1256));
  ASSERT_TRUE(wire_.reset());
  ASSERT_TRUE(board_.dfu().wants_reset());
  board_.power_on();
  EXPECT_EQ(board_.running_version(), "1.1.0");
}

TEST_F(TolerantDfuClient, isReadyForTheNextImage) {
  for (const char* version : {"1.1.0", "1.2.0"}) {
    const auto end = client_.download(image(version));
    ASSERT_TRUE(end) << end.error().text();
    EXPECT_EQ(*end, DfuEnd::ready);
    EXPECT_EQ(other_version(), version);
  }
}

TEST_F(DfuClientTest, whatItReadsIsWhatWasWritten) {
  for (const std::uint32_t payload : {1u, 255u, 256u, 257u, 512u, 40'000u}) {
    const std::string version = "1.0." + std::to_string(payload);
    const Bytes next = image(version, payload);
    ASSERT_TRUE(client_.download(next));
    board_.power_on();
    ASSERT_TRUE(board_.slots().confirm());
    board_.enter_dfu_mode();
    std::uint64_t last = 0;
    const auto read =
        client_.upload(65536, {.on_progress = [&](std::uint64_t bytes) { last = bytes; }});
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, next);
    EXPECT_EQ(last, next.size());
  }
}

TEST_F(DfuClientTest, aFirmwareThatDoesNotEndIsNotReadForEver) {
  const auto read = client_.upload(1000);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::exhausted);
  EXPECT_TRUE(client_.upload(1256));
}

TEST(DfuClient, blockNumbersWrap) {
  const device::DfuIdentity small = with(device::dfu_manifestation_tolerant, 8);
  DfuBoard board(small, 1 << 20);
  InProcessDfu wire(board);
  board.enter_dfu_mode();
  const Bytes next = image("1.1.0", 65'600 * 8);
  DfuClient client(wire, functional(small));
  const auto end = client.download(next);
  ASSERT_TRUE(end) << end.error().text();
  board.power_on();
  board.enter_dfu_mode();
  const auto read = client.upload(1 << 20);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(*read == next);
}

TEST_F(DfuClientTest, whatTheDeviceRefusesIsSaidInWords) {
  Bytes flipped = image("1.1.0");
  flipped[700] ^= 1;
  const struct {
    Bytes bytes;
    ErrorKind kind;
    const char* says;
  } cases[] = {
      {image("1.1.0", 1000, "other"), ErrorKind::bad_file,
       "writing byte 0 of 1256: the image is for another device (errTARGET), \"the image is for "
       "another board\"; take the image that is for this board"},
      {Bytes(512, 0x41), ErrorKind::bad_file,
       "(errFILE), \"no firmware image, or a damaged one\"; check that the file is whole"},
      {image("1.1.0", 1000, "m6", 0), ErrorKind::protocol,
       "(errVENDOR), \"the image is older than its security counter allows\""},
      {image("1.1.0", 70'000), ErrorKind::bad_file, "beyond its memory (errADDRESS)"},
      {flipped, ErrorKind::io,
       "ending the update: what it wrote is not what was meant to be there (errVERIFY)"}};
  for (const auto& c : cases) {
    const auto end = client_.download(c.bytes);
    EXPECT_THAT(failure(end), HasSubstr(c.says));
    if (!end) {
      EXPECT_EQ(end.error().kind, c.kind) << c.says;
      EXPECT_EQ(end.error().where, "1209:a551 at 1-2");
    }
  }
}

TEST_F(DfuClientTest, aShortImageIsNotTakenAsWhole) {
  Bytes cut = image("1.1.0");
  cut.pop_back();
  EXPECT_THAT(failure(client_.download(cut)), HasSubstr("errNOTDONE"));
  EXPECT_EQ(other_version(), "none");
}

TEST_F(DfuClientTest, anImageOnTrialIsConfirmedFirst) {
  ASSERT_TRUE(client_.download(image("1.1.0")));
  board_.power_on();
  board_.enter_dfu_mode();
  EXPECT_THAT(failure(client_.download(image("1.2.0"))), HasSubstr("must be confirmed first"));
  ASSERT_TRUE(board_.slots().confirm());
  EXPECT_TRUE(client_.download(image("1.2.0")));
}

TEST_F(DfuClientTest, eachStatusHasItsWords) {
  for (int number = 1; number <= 16; ++number) {
    ASSERT_TRUE(client_.make_idle());
    int seen = 0;
    wire_.change = [&](DfuRequest request, Bytes* data) {
      if (request != DfuRequest::get_status || ++seen != 4) return;
      (*data)[0] = static_cast<std::uint8_t>(number);
      (*data)[4] = static_cast<std::uint8_t>(DfuState::error);
    };
    const auto end = client_.download(image("1.1.0"));
    wire_.change = nullptr;
    ASSERT_FALSE(end) << number;
    EXPECT_THAT(end.error().what, HasSubstr("writing byte 256 of 1256: "));
    EXPECT_THAT(end.error().what, HasSubstr(std::string(name_of(static_cast<DfuStatus>(number)))));
    EXPECT_FALSE(end.error().hint.empty());
  }
  EXPECT_EQ(name_of(DfuStatus::verify), "errVERIFY");
  EXPECT_EQ(name_of(DfuStatus::stalled_packet), "errSTALLEDPKT");
}

TEST_F(DfuClientTest, fromEachStateItGetsReady) {
  const Bytes next = image("1.1.0");
  const auto first = std::span(next).first(256);
  const std::function<void()> earlier_programs[] = {
      [] {},
      [&] { board_.request(DfuRequest::download, 0, first); },
      [&] {
        board_.request(DfuRequest::download, 0, first);
        board_.request(DfuRequest::get_status);
      },
      [&] {
        board_.request(DfuRequest::download, 0, first);
        board_.request(DfuRequest::get_status);
        board_.now_ms += DfuBoard::times.block_ms;
        board_.request(DfuRequest::get_status);
      },
      [&] { board_.request(DfuRequest::upload, 0, {}, 256); },
      [&] { board_.request(DfuRequest::clear_status); },
  };
  const DfuState states[] = {DfuState::dfu_idle,      DfuState::download_sync,
                             DfuState::download_busy, DfuState::download_idle,
                             DfuState::upload_idle,   DfuState::error};
  for (std::size_t i = 0; i < std::size(states); ++i) {
    SCOPED_TRACE(name_of(states[i]));
    board_.power_on();
    ASSERT_TRUE(board_.slots().confirm());
    board_.enter_dfu_mode();
    earlier_programs[i]();
    ASSERT_EQ(board_.dfu().state(), states[i]);
    const auto idle = client_.make_idle();
    EXPECT_TRUE(idle) << idle.error().text();
    EXPECT_EQ(board_.dfu().state(), DfuState::dfu_idle);
    const auto end = client_.download(next);
    EXPECT_TRUE(end) << end.error().text();
  }
  // The last one waits for its reset.
  EXPECT_FALSE(client_.make_idle());
  board_.power_on();
  EXPECT_THAT(client_.make_idle().error().text(), HasSubstr("not in DFU mode"));
}

// Over the whole update: pulled out in each request in turn.
TEST_F(DfuClientTest, anUnplugAtAnyTimeLeavesABoardThatRunsAndCanBeUpdated) {
  int ends = 0;
  for (int request = 0;; ++request) {
    SCOPED_TRACE(request);
    wire_.unplug_in(request);
    const auto end = client_.download(image("1.1.0"));
    if (!wire_.unplugged()) {
      EXPECT_GT(request, 15);
      break;
    }
    if (end) {
      EXPECT_EQ(*end, DfuEnd::vanished);
      ++ends;
    } else {
      EXPECT_EQ(end.error().kind, ErrorKind::vanished);
    }
    wire_.plug_in();
    const std::string running = board_.running_version();
    // Once it was told to end the update it may have done so.
    if (!end) {
      EXPECT_EQ(running, "1.0.0");
    }
    if (running == "1.1.0") {
      ASSERT_TRUE(board_.slots().confirm());
    }
    const auto again = client_.download(image("1.0.0"));
    ASSERT_TRUE(again) << again.error().text();
    wire_.plug_in();
    ASSERT_EQ(board_.running_version(), "1.0.0");
    ASSERT_TRUE(board_.slots().confirm());
  }
  // Away while it ends the update: no failure.
  EXPECT_GE(ends, 1);
}

TEST_F(DfuClientTest, aStallAtAnyTimeIsToldAndGotOver) {
  for (int request = 0;; ++request) {
    SCOPED_TRACE(request);
    const int before = wire_.requests();
    wire_.fail_in(request, ErrorKind::protocol);
    const auto end = client_.download(image("1.1.0"));
    if (wire_.requests() - before <= request) {
      EXPECT_TRUE(end);
      EXPECT_GT(request, 15);
      break;
    }
    // Getting ready copes with one, and one that waits for its reset may not answer.
    if (!end) {
      EXPECT_EQ(end.error().kind, ErrorKind::protocol);
    }
    board_.power_on();
    board_.enter_dfu_mode();
    if (board_.slots().on_trial()) {
      ASSERT_TRUE(board_.slots().confirm());
    }
    const auto again = client_.download(image("1.0.0"));
    ASSERT_TRUE(again) << again.error().text();
    wire_.plug_in();
    ASSERT_TRUE(board_.slots().confirm());
  }
}

TEST_F(DfuClientTest, oneThatDoesNotTalkBehindTheUpdateIsReset) {
  // Getting ready, five blocks of three requests, the end of the update, and its status.
  for (const int request : {17, 18}) {
    for (const ErrorKind kind : {ErrorKind::timeout, ErrorKind::protocol}) {
      wire_.fail_in(request, kind);
      const auto end = client_.download(image("1.1.0"));
      // That it is refused before the update has begun to end is a failure.
      ASSERT_EQ(end.has_value(), kind == ErrorKind::timeout || request == 18);
      if (end) {
        EXPECT_EQ(*end, DfuEnd::needs_reset);
      }
      wire_.plug_in();
      if (board_.slots().on_trial()) {
        ASSERT_TRUE(board_.slots().confirm());
      }
    }
  }
}

TEST_F(DfuClientTest, answersThatMakeNoSenseAreErrors) {
  const std::function<void(Bytes*)> nonsense[] = {
      [](Bytes* data) { data->clear(); },
      [](Bytes* data) { data->resize(5); },
      [](Bytes* data) { (*data)[4] = 11; },
      [](Bytes* data) { (*data)[4] = 0xFF; },
      [](Bytes* data) { (*data)[4] = static_cast<std::uint8_t>(DfuState::upload_idle); },
      [](Bytes* data) { (*data)[4] = static_cast<std::uint8_t>(DfuState::app_idle); }};
  for (const auto& change : nonsense) {
    for (const int which : {1, 2, 3}) {
      int seen = 0;
      wire_.change = [&](DfuRequest request, Bytes* data) {
        if (request == DfuRequest::get_status && ++seen >= which) change(data);
      };
      const auto end = client_.download(image("1.1.0"));
      wire_.change = nullptr;
      ASSERT_FALSE(end);
      EXPECT_TRUE(end.error().kind == ErrorKind::protocol || end.error().kind == ErrorKind::usage);
    }
  }
}

TEST_F(DfuClientTest, aDeviceThatIsBusyForEverIsGivenUp) {
  for (const std::uint32_t poll_ms : {0u, 1u, 250u, 0xFF'FFFFu}) {
    wire_.change = [&](DfuRequest request, Bytes* data) {
      if (request != DfuRequest::get_status) return;
      if ((*data)[4] == static_cast<std::uint8_t>(DfuState::dfu_idle)) return;
      for (std::size_t i = 0; i < 3; ++i) {
        (*data)[1 + i] = static_cast<std::uint8_t>(poll_ms >> 8 * i);
      }
      (*data)[4] = static_cast<std::uint8_t>(DfuState::download_sync);
    };
    const auto end = client_.download(image("1.1.0"), {.busy_timeout_ns = 10 * ns_per_s});
    wire_.change = nullptr;
    ASSERT_FALSE(end);
    EXPECT_TRUE(end.error().kind == ErrorKind::timeout || end.error().kind == ErrorKind::protocol);
    ASSERT_TRUE(client_.make_idle());
  }
}

TEST_F(DfuClientTest, aCancelAbortsTheTransfer) {
  CancelToken cancel;
  const auto end =
      client_.download(image("1.1.0"), {.cancel = &cancel, .on_progress = [&](std::uint64_t bytes) {
                                          if (bytes == 512) cancel.cancel();
                                        }});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(board_.dfu().state(), DfuState::dfu_idle);
  EXPECT_EQ(client_.upload(65536, {.cancel = &cancel}).error().kind, ErrorKind::cancelled);
  EXPECT_TRUE(client_.download(image("1.1.0")));
}

TEST_F(DfuClientTest, detachesFromRunTimeMode) {
  board_.power_on();
  ASSERT_EQ(board_.dfu().state(), DfuState::app_idle);
  const auto detached = client_.detach();
  ASSERT_TRUE(detached) << detached.error().text();
  EXPECT_EQ(board_.dfu().state(), DfuState::dfu_idle);
  // In DFU mode there is nothing to detach from.
  EXPECT_FALSE(client_.detach());
}

TEST_F(DetachingDfuClient, isNotResetByTheHost) {
  board_.power_on();
  ASSERT_TRUE(client_.detach());
  EXPECT_EQ(board_.dfu().state(), DfuState::app_detach);
  EXPECT_TRUE(board_.dfu().wants_reattach());
  EXPECT_EQ(board_.dfu().state(), DfuState::dfu_idle);
}

TEST_F(DfuClientTest, whatTheDeviceCannotDoIsNotAskedOfIt) {
  DfuFunctional none = functional(test::dfu_identity);
  none.can_download = false;
  none.can_upload = false;
  DfuClient client(wire_, none);
  const int before = wire_.requests();
  EXPECT_EQ(client.download(image("1.1.0")).error().kind, ErrorKind::usage);
  EXPECT_EQ(client.upload(65536).error().kind, ErrorKind::usage);
  EXPECT_EQ(client_.download({}).error().kind, ErrorKind::usage);
  EXPECT_EQ(wire_.requests(), before);
}

TEST(DfuFunctionalDescriptor, isFoundAmongOthers) {
  const Bytes bytes = {5, 0x24, 1, 2, 3, 9, 0x21, 0x0D, 0xE8, 0x03, 0x00, 0x08, 0x10, 0x01};
  const auto found = find_dfu_functional(bytes, "x");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->can_download);
  EXPECT_FALSE(found->can_upload);
  EXPECT_TRUE(found->manifestation_tolerant);
  EXPECT_TRUE(found->will_detach);
  EXPECT_EQ(found->detach_timeout_ms, 1000);
  EXPECT_EQ(found->transfer_bytes, 2048);
  EXPECT_EQ(found->version, 0x0110);
  const auto old = find_dfu_functional(Bytes{7, 0x21, 3, 0, 0, 64, 0}, "x");  // DFU 1.0
  ASSERT_TRUE(old);
  EXPECT_EQ(old->version, 0x0100);
}

TEST(DfuFunctionalDescriptor, thatCannotBeIsRefused) {
  const Bytes whole = {9, 0x21, 3, 0, 0, 64, 0, 0x10, 1};
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(find_dfu_functional(std::span(whole).first(size), "x")) << size;
  }
  for (const std::uint8_t transfer : Bytes{0, 1, 7}) {
    Bytes absurd = whole;
    absurd[5] = transfer;
    EXPECT_THAT(find_dfu_functional(absurd, "x").error().text(), HasSubstr("bytes at a time"));
  }
  for (const std::uint8_t length : Bytes{0, 1, 2, 6, 10, 255}) {
    Bytes absurd = whole;
    absurd[0] = length;
    EXPECT_FALSE(find_dfu_functional(absurd, "x")) << int{length};
  }
  Bytes dfuse = whole;
  dfuse[7] = 0x1A;
  EXPECT_THAT(find_dfu_functional(dfuse, "x").error().text(), HasSubstr("DfuSe"));
}

}  // namespace
}  // namespace assay::firmware
