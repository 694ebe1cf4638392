// The device's end against the tables of the specification (USB DFU 1.1, appendix A.2).
#include "firmware/device/dfu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "tests/firmware/bytes.h"
#include "tests/firmware/dfu_board.h"
#include "tests/firmware/firmware_image.h"

namespace assay::firmware::device {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using R = DfuRequest;
using S = DfuState;
using test::DfuBoard;

Bytes image(const std::string& version, std::uint32_t payload_bytes = 1000,
            const std::string& board = "m6", std::uint32_t counter = 1) {
  return test::firmware_image(version, payload_bytes, board, counter);
}

DfuIdentity with(std::uint8_t more) {
  DfuIdentity identity = test::dfu_identity;
  identity.attributes = static_cast<std::uint8_t>(identity.attributes | more);
  return identity;
}

struct Status {
  DfuStatus status;
  std::uint32_t poll_ms;
  DfuState state;
};

class DfuDeviceTest : public testing::Test {
 protected:
  explicit DfuDeviceTest(std::uint8_t more = 0) : board_(with(more)) {}

  Status status() {
    const auto reply = board_.request(R::get_status);
    EXPECT_THAT(reply.data, SizeIs(6));
    if (reply.data.size() != 6) return {};
    const auto& d = reply.data;
    return {DfuStatus{d[0]}, static_cast<std::uint32_t>(d[1] | d[2] << 8 | d[3] << 16),
            DfuState{d[4]}};
  }
  // Sends a block and waits as told.
  DfuState send(std::uint16_t number, std::span<const std::uint8_t> block) {
    if (board_.request(R::download, number, block).stalled) return board_.dfu().state();
    for (;;) {
      const Status now = status();
      if (now.state != S::download_busy) return now.state;
      board_.now_ms += now.poll_ms;
    }
  }
  DfuState send_all(const Bytes& bytes) {
    std::uint16_t number = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 256) {
      const auto size = std::min<std::size_t>(256, bytes.size() - at);
      const DfuState state = send(number++, std::span(bytes).subspan(at, size));
      if (state != S::download_idle) return state;
    }
    return S::download_idle;
  }
  // A configured device, by the shortest way into a state.
  void bring_to(DfuState state) {
    board_.install(image("1.0.0"));
    const Bytes next = image("1.1.0");
    const auto first = std::span(next).first(256);
    if (state == S::app_idle) return;
    if (state == S::app_detach) {
      board_.request(R::detach, 1000);
      return;
    }
    board_.enter_dfu_mode();
    switch (state) {
      case S::download_sync:
        board_.request(R::download, 0, first);
        break;
      case S::download_busy:
        board_.request(R::download, 0, first);
        status();
        break;
      case S::download_idle:
        send_all(next);
        break;
      case S::manifest_sync:
      case S::manifest:
      case S::manifest_wait_reset:
        send_all(next);
        board_.request(R::download, 9);
        if (state == S::manifest_sync) break;
        board_.now_ms += status().poll_ms;
        if (state == S::manifest) --board_.now_ms;
        if (state == S::manifest_wait_reset) board_.request(R::get_state);
        break;
      case S::upload_idle:
        board_.request(R::upload, 0, {}, 256);
        break;
      case S::error:
        board_.request(R::clear_status);
        break;
      default:
        break;
    }
    ASSERT_EQ(board_.dfu().state(), state);
  }

  DfuBoard board_;
};

class TolerantDfuDevice : public DfuDeviceTest {
 protected:
  TolerantDfuDevice() : DfuDeviceTest(dfu_manifestation_tolerant) {}
};
class DetachingDfuDevice : public DfuDeviceTest {
 protected:
  DetachingDfuDevice() : DfuDeviceTest(dfu_will_detach) {}
};

// Tables A.2.1 to A.2.11. A pair that is not here is "any other request": a stall, and dfuERROR in
// DFU mode, appIDLE in run-time mode.
const std::map<std::pair<S, R>, S> transitions = {
    {{S::app_idle, R::detach}, S::app_detach},
    {{S::app_idle, R::get_status}, S::app_idle},
    {{S::app_idle, R::get_state}, S::app_idle},
    {{S::app_detach, R::get_status}, S::app_detach},
    {{S::app_detach, R::get_state}, S::app_detach},
    {{S::dfu_idle, R::download}, S::download_sync},
    {{S::dfu_idle, R::upload}, S::upload_idle},
    {{S::dfu_idle, R::abort}, S::dfu_idle},
    {{S::dfu_idle, R::get_status}, S::dfu_idle},
    {{S::dfu_idle, R::get_state}, S::dfu_idle},
    {{S::download_sync, R::get_status}, S::download_busy},
    {{S::download_sync, R::get_state}, S::download_sync},
    {{S::download_sync, R::abort}, S::dfu_idle},
    {{S::download_idle, R::download}, S::download_sync},
    {{S::download_idle, R::abort}, S::dfu_idle},
    {{S::download_idle, R::get_status}, S::download_idle},
    {{S::download_idle, R::get_state}, S::download_idle},
    {{S::manifest_sync, R::get_status}, S::manifest},
    {{S::manifest_sync, R::get_state}, S::manifest_sync},
    {{S::manifest_sync, R::abort}, S::dfu_idle},
    {{S::upload_idle, R::upload}, S::upload_idle},
    {{S::upload_idle, R::abort}, S::dfu_idle},
    {{S::upload_idle, R::get_status}, S::upload_idle},
    {{S::upload_idle, R::get_state}, S::upload_idle},
    {{S::error, R::clear_status}, S::dfu_idle},
    {{S::error, R::get_status}, S::error},
    {{S::error, R::get_state}, S::error},
};

TEST_F(DfuDeviceTest, eachRequestInEachStateDoesWhatTheTablesSay) {
  for (const S state :
       {S::app_idle, S::app_detach, S::dfu_idle, S::download_sync, S::download_busy,
        S::download_idle, S::manifest_sync, S::manifest, S::upload_idle, S::error}) {
    for (const R request : {R::detach, R::download, R::upload, R::get_status, R::clear_status,
                            R::get_state, R::abort, R{7}}) {
      bring_to(state);
      const Bytes block(256, 0x41);
      const std::uint16_t number = state == S::download_idle ? 5 : state == S::upload_idle ? 1 : 0;
      const auto reply =
          board_.request(request, number,
                         request == R::download ? std::span<const std::uint8_t>(block)
                                                : std::span<const std::uint8_t>(),
                         256);
      SCOPED_TRACE(testing::Message() << "state " << static_cast<int>(state) << " request "
                                      << static_cast<int>(request));
      const auto next = transitions.find({state, request});
      EXPECT_EQ(reply.stalled, next == transitions.end());
      if (next != transitions.end()) {
        EXPECT_EQ(board_.dfu().state(), next->second);
        if (request == R::get_state) {
          EXPECT_THAT(reply.data, ElementsAre(static_cast<std::uint8_t>(state)));
        }
      } else {
        EXPECT_EQ(board_.dfu().state(), state <= S::app_detach ? S::app_idle : S::error);
      }
      // Whatever was asked, the image that runs is what it was.
      EXPECT_EQ(board_.running_version(), "1.0.0");
    }
  }
}

TEST_F(DfuDeviceTest, whileItWaitsForTheResetNothingElseLeadsOut) {
  bring_to(S::manifest_wait_reset);
  for (const R request : {R::detach, R::download, R::upload, R::clear_status, R::abort}) {
    EXPECT_TRUE(board_.request(request).stalled);
    EXPECT_EQ(board_.dfu().state(), S::manifest_wait_reset);
  }
  EXPECT_EQ(status().state, S::manifest_wait_reset);
  EXPECT_THAT(board_.request(R::get_state).data, ElementsAre(8));
  EXPECT_FALSE(board_.dfu().wants_reset());
  board_.bus_reset();
  EXPECT_TRUE(board_.dfu().wants_reset());
  board_.power_on();
  EXPECT_EQ(board_.dfu().state(), S::app_idle);
  EXPECT_EQ(board_.running_version(), "1.1.0");
  EXPECT_TRUE(board_.slots().on_trial());
}

TEST_F(DfuDeviceTest, aStallSaysThatTheRequestWasNotExpected) {
  bring_to(S::dfu_idle);
  EXPECT_TRUE(board_.request(R::clear_status).stalled);
  EXPECT_EQ(status().status, DfuStatus::stalled_packet);
  EXPECT_FALSE(board_.request(R::clear_status).stalled);
  const Status now = status();
  EXPECT_EQ(now.status, DfuStatus::ok);
  EXPECT_EQ(now.state, S::dfu_idle);
}

TEST_F(DfuDeviceTest, aHostThatAsksTooEarlyIsStalled) {
  bring_to(S::download_busy);
  board_.now_ms += DfuBoard::times.block_ms - 1;
  EXPECT_TRUE(board_.request(R::get_status).stalled);
  EXPECT_EQ(status().status, DfuStatus::stalled_packet);
}

TEST_F(DfuDeviceTest, theEndOfTheDetachTimeoutTakesItBack) {
  board_.install(image("1.0.0"));
  board_.request(R::detach, 100);
  board_.now_ms += 99;
  EXPECT_EQ(status().state, S::app_detach);
  board_.now_ms += 1;
  EXPECT_EQ(status().state, S::app_idle);
  board_.bus_reset();
  EXPECT_EQ(board_.dfu().state(), S::app_idle);
  // The device's own limit counts too.
  board_.request(R::detach, 60'000);
  board_.now_ms += test::dfu_identity.detach_timeout_ms;
  EXPECT_EQ(status().state, S::app_idle);
}

TEST_F(DfuDeviceTest, aResetWithinTheDetachTimeoutEntersDfuMode) {
  board_.install(image("1.0.0"));
  EXPECT_EQ(board_.control({0x80, 6, 0x0200, 0, 64}).data[16], dfu_protocol_runtime);
  board_.request(R::detach, 100);
  EXPECT_FALSE(board_.dfu().wants_reattach());
  board_.now_ms += 50;
  board_.bus_reset();
  EXPECT_EQ(board_.dfu().state(), S::dfu_idle);
  // Linux resets twice while it enumerates.
  board_.bus_reset();
  EXPECT_EQ(board_.dfu().state(), S::dfu_idle);
  EXPECT_FALSE(board_.dfu().wants_reset());
  EXPECT_EQ(board_.control({0x80, 6, 0x0200, 0, 64}).data[16], dfu_protocol_dfu);
  board_.control({0x00, 9, 1, 0, 0});
  board_.bus_reset();
  EXPECT_TRUE(board_.dfu().wants_reset());
}

TEST_F(DetachingDfuDevice, leavesTheBusByItself) {
  board_.install(image("1.0.0"));
  EXPECT_FALSE(board_.dfu().wants_reattach());
  board_.request(R::detach, 100);
  EXPECT_TRUE(board_.dfu().wants_reattach());
  EXPECT_FALSE(board_.dfu().wants_reattach());
  // However long the enumeration takes.
  board_.now_ms += 5000;
  board_.bus_reset();
  EXPECT_EQ(status().state, S::dfu_idle);
}

TEST_F(DfuDeviceTest, withoutFirmwareItStaysInDfuMode) {
  EXPECT_EQ(status().status, DfuStatus::firmware);
  EXPECT_EQ(status().state, S::error);
  board_.enter_dfu_mode();
  board_.bus_reset();
  EXPECT_FALSE(board_.dfu().wants_reset());
  EXPECT_EQ(status().status, DfuStatus::firmware);
  EXPECT_FALSE(board_.request(R::clear_status).stalled);
  EXPECT_TRUE(board_.request(R::upload, 0, {}, 256).stalled);
  EXPECT_EQ(status().status, DfuStatus::firmware);
  board_.request(R::clear_status);
  EXPECT_EQ(send_all(image("1.0.0")), S::download_idle);
}

TEST_F(TolerantDfuDevice, talksOnBehindTheUpdate) {
  bring_to(S::manifest);
  board_.now_ms += 1;
  EXPECT_EQ(status().state, S::dfu_idle);
  EXPECT_EQ(board_.version_in(1 - board_.slots().running()), "1.1.0");
  board_.bus_reset();
  EXPECT_TRUE(board_.dfu().wants_reset());
  board_.power_on();
  EXPECT_EQ(board_.running_version(), "1.1.0");
}

TEST_F(DfuDeviceTest, blockNumbersAreAsTheyShouldBe) {
  const Bytes block(256, 0x41);
  for (const std::uint16_t wrong : std::initializer_list<std::uint16_t>{1, 0xFFFF}) {
    bring_to(S::dfu_idle);
    EXPECT_TRUE(board_.request(R::download, wrong, block).stalled);
    EXPECT_EQ(status().status, DfuStatus::address);
    board_.request(R::clear_status);
    EXPECT_TRUE(board_.request(R::upload, wrong, {}, 256).stalled);
    EXPECT_EQ(status().status, DfuStatus::address);
  }
  const Bytes next = image("1.1.0");
  for (const std::uint16_t wrong : std::initializer_list<std::uint16_t>{0, 2}) {
    bring_to(S::dfu_idle);
    ASSERT_EQ(send(0, std::span(next).first(256)), S::download_idle);
    EXPECT_TRUE(board_.request(R::download, wrong, std::span(next).subspan(256, 256)).stalled);
    EXPECT_EQ(status().status, DfuStatus::address);
  }
}

TEST_F(DfuDeviceTest, lengthsThatCannotBeAreStalled) {
  bring_to(S::dfu_idle);
  EXPECT_TRUE(board_.request(R::download, 0).stalled);
  EXPECT_EQ(status().status, DfuStatus::stalled_packet);
  const Bytes long_block(257, 0x41);
  bring_to(S::dfu_idle);
  EXPECT_TRUE(board_.request(R::download, 0, long_block).stalled);
  EXPECT_EQ(status().status, DfuStatus::stalled_packet);
  for (const std::uint16_t length : std::initializer_list<std::uint16_t>{0, 257}) {
    bring_to(S::dfu_idle);
    EXPECT_TRUE(board_.request(R::upload, 0, {}, length).stalled);
    EXPECT_EQ(status().status, DfuStatus::stalled_packet);
  }
}

TEST_F(DfuDeviceTest, theEndBeforeAllOfTheImageIsAnError) {
  board_.install(image("1.0.0"));
  board_.enter_dfu_mode();
  const Bytes next = image("1.1.0");
  ASSERT_EQ(send_all(Bytes(next.begin(), next.end() - 1)), S::download_idle);
  EXPECT_TRUE(board_.request(R::download, 5).stalled);
  EXPECT_EQ(status().status, DfuStatus::not_done);
}

TEST_F(DfuDeviceTest, whatCannotBeTakenIsRefusedWithItsStatus) {
  Bytes flipped = image("1.1.0");
  flipped[700] ^= 1;
  Bytes longer = image("1.1.0");
  longer.push_back(0);
  const struct {
    Bytes bytes;
    DfuStatus status;
  } cases[] = {{image("1.1.0", 1000, "other"), DfuStatus::target},
               {Bytes(512, 0x41), DfuStatus::file},
               {image("1.1.0", 1000, "m6", 0), DfuStatus::vendor},
               {image("1.1.0", 70'000), DfuStatus::address},
               {longer, DfuStatus::address},
               {flipped, DfuStatus::verify}};
  for (const auto& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.status));
    board_.install(image("1.0.0"));
    board_.enter_dfu_mode();
    if (send_all(c.bytes) == S::download_idle) {
      EXPECT_FALSE(board_.request(R::download, 5).stalled);
      board_.now_ms += status().poll_ms;
    }
    EXPECT_EQ(status().status, c.status);
    EXPECT_EQ(status().state, S::error);
    // Whatever the host goes on with, it can still ask what the error was.
    EXPECT_TRUE(board_.request(R::abort).stalled);
    EXPECT_TRUE(board_.request(R::download, 6, c.bytes).stalled);
    EXPECT_EQ(status().status, c.status);
    board_.power_on();
    EXPECT_EQ(board_.running_version(), "1.0.0");
  }
}

TEST_F(DfuDeviceTest, aChipThatFailsIsAnErrorOfWriting) {
  bring_to(S::dfu_idle);
  board_.flash().cut_after(1, 0);
  EXPECT_EQ(send_all(image("1.1.0")), S::error);
  EXPECT_EQ(status().status, DfuStatus::write);
}

TEST_F(DfuDeviceTest, itGivesTheFirmwareThatRuns) {
  for (const std::uint32_t payload : {1u, 255u, 256u, 257u, 1024u}) {
    const Bytes installed = image("1.0.0", payload);
    board_.install(installed);
    board_.enter_dfu_mode();
    Bytes read;
    for (std::uint16_t number = 0;; ++number) {
      const auto reply = board_.request(R::upload, number, {}, 200);
      ASSERT_FALSE(reply.stalled);
      read.insert(read.end(), reply.data.begin(), reply.data.end());
      if (reply.data.size() < 200) break;
    }
    EXPECT_EQ(board_.dfu().state(), S::dfu_idle);
    EXPECT_EQ(read, installed);
  }
}

TEST_F(DfuDeviceTest, theDescriptorsAreThoseOfTheSpecification) {
  board_.install(image("1.0.0"));
  board_.enter_dfu_mode();
  EXPECT_THAT(
      board_.control({0x80, 6, 0x0100, 0, 64}).data,
      ElementsAre(18, 1, 0x00, 0x02, 0, 0, 0, 64, 0x09, 0x12, 0x51, 0xA5, 0x03, 0x02, 1, 2, 3, 1));
  EXPECT_THAT(board_.control({0x80, 6, 0x0200, 0, 255}).data,
              ElementsAre(9, 2, 27, 0, 1, 1, 0, 0x80, 50,                 // configuration
                          9, 4, 0, 0, 0, 0xFE, 1, 2, 4,                   // interface
                          9, 0x21, 3, 0xE8, 0x03, 0x00, 0x01, 0x10, 1));  // functional
  EXPECT_THAT(board_.control({0x80, 6, 0x0300, 0, 255}).data, ElementsAre(4, 3, 0x09, 0x04));
  EXPECT_THAT(board_.control({0x80, 6, 0x0303, 0x0409, 255}).data,
              ElementsAre(12, 3, 'R', 0, '0', 0, '0', 0, '4', 0, '2', 0));
  EXPECT_THAT(board_.control({0x80, 6, 0x0200, 0, 9}).data, SizeIs(9));
  EXPECT_TRUE(board_.control({0x80, 6, 0x0600, 0, 10}).stalled);  // not a high-speed device
  EXPECT_TRUE(board_.control({0x80, 6, 0x0309, 0x0409, 255}).stalled);
}

TEST_F(DfuDeviceTest, requestsForOthersDoNotTouchTheState) {
  bring_to(S::download_idle);
  EXPECT_TRUE(board_.control({0x21, 4, 0, 1, 0}).stalled);   // another interface
  EXPECT_TRUE(board_.control({0x20, 4, 0, 0, 0}).stalled);   // the device
  EXPECT_TRUE(board_.control({0x41, 4, 0, 0, 0}).stalled);   // a vendor's
  EXPECT_TRUE(board_.control({0x00, 3, 1, 0, 0}).stalled);   // SET_FEATURE
  EXPECT_TRUE(board_.control({0x01, 11, 1, 0, 0}).stalled);  // a setting that is not there
  EXPECT_FALSE(board_.control({0x01, 11, 0, 0, 0}).stalled);
  EXPECT_THAT(board_.control({0x81, 10, 0, 0, 1}).data, ElementsAre(0));
  EXPECT_THAT(board_.control({0x80, 8, 0, 0, 1}).data, ElementsAre(1));
  EXPECT_THAT(board_.control({0x80, 0, 0, 0, 2}).data, ElementsAre(0, 0));
  EXPECT_EQ(status().state, S::download_idle);
}

}  // namespace
}  // namespace assay::firmware::device
