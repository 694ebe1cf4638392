// The way through libusb, on umockdev's bus with the reference device behind it. dfu-util is the
// independent host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "firmware/image/dfu_suffix.h"
#include "firmware/usb/dfu_update.h"
#include "firmware/usb/usb_dfu.h"
#include "tests/base/scratch.h"
#include "tests/firmware/bytes.h"
#include "tests/firmware/dfu_board.h"
#include "tests/firmware/firmware_image.h"
#include "tests/firmware/mock_usb.h"
#include "tests/support/program.h"

namespace assay::firmware {
namespace {

using test::DfuBoard;
using test::MockUsb;
using testing::ElementsAre;
using testing::HasSubstr;

Bytes image(const std::string& version, std::uint32_t payload_bytes = 2999) {
  return test::firmware_image(version, payload_bytes, "m6");
}

device::DfuIdentity with(std::uint8_t more) {
  device::DfuIdentity identity = test::dfu_identity;
  identity.attributes = static_cast<std::uint8_t>(identity.attributes | more);
  return identity;
}

test::Finished dfu_util(std::vector<std::string> arguments) {
  // Waits a second, not five, for a device that was detached.
  arguments.insert(arguments.begin(), {"/usr/bin/dfu-util", "-E", "1"});
  return test::Program(arguments).wait();
}

std::string text(const Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

// A board that runs 1.0.0.
struct Bench {
  explicit Bench(std::uint8_t attributes = 0) : board(with(attributes)) {
    board.install(image("1.0.0"));
    usb.emplace(board, with(attributes));
  }
  DfuBoard board;
  std::optional<MockUsb> usb;
};

TEST(UsbList, saysWhatIsPluggedIn) {
  Bench bench;
  const auto devices = list_usb_devices();
  ASSERT_TRUE(devices) << devices.error().text();
  ASSERT_EQ(devices->size(), 2u);
  const UsbDevice& board = devices->front();
  EXPECT_EQ(board.id(), "1209:a550");
  EXPECT_EQ(board.serial, "R0042");
  EXPECT_EQ(board.description, "NPU");
  EXPECT_EQ(board.release, 0x0203);
  EXPECT_EQ(board.role, UsbRole::dfu_runtime);
  EXPECT_EQ(board.name(), "1209:a550 at 1-2");
  EXPECT_EQ(board.node(), "/dev/bus/usb/001/002");
  EXPECT_EQ(devices->back().role, UsbRole::hub);
  EXPECT_EQ(devices->back().port, "usb1");
}

class DfuOverUsb : public testing::TestWithParam<std::uint8_t> {};

TEST_P(DfuOverUsb, anUpdateFromTheRunningFirmwareToTheNewOne) {
  Bench bench(GetParam());
  std::vector<DfuPhase> phases;
  std::uint64_t written = 0;
  const Bytes next = image("1.1.0");
  const auto updated =
      update_over_dfu({.ids = {"1209:A550", "1209:a551"}, .serial = "R0042"}, next,
                      {.transfer = {.on_progress = [&](std::uint64_t bytes) { written = bytes; }},
                       .on_phase = [&](DfuPhase phase) { phases.push_back(phase); }});
  ASSERT_TRUE(updated) << updated.error().text();
  EXPECT_EQ(updated->before.id(), "1209:a551");
  EXPECT_EQ(updated->after.id(), "1209:a550");
  EXPECT_EQ(updated->end == DfuEnd::ready, (GetParam() & device::dfu_manifestation_tolerant) != 0);
  EXPECT_THAT(phases, ElementsAre(DfuPhase::detach, DfuPhase::write, DfuPhase::restart));
  EXPECT_EQ(written, next.size());
  EXPECT_EQ(bench.usb->enumerations(), 3);
  EXPECT_EQ(bench.board.running_version(), "1.1.0");
  EXPECT_TRUE(bench.board.slots().on_trial());

  const auto read = read_over_dfu({}, 65536);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, next);
}

INSTANTIATE_TEST_SUITE_P(
    Devices, DfuOverUsb,
    testing::Values(0, device::dfu_manifestation_tolerant, device::dfu_will_detach,
                    device::dfu_manifestation_tolerant | device::dfu_will_detach),
    [](const auto& attributes) {
      const bool tolerant = (attributes.param & device::dfu_manifestation_tolerant) != 0;
      const bool detaches = (attributes.param & device::dfu_will_detach) != 0;
      return std::string(tolerant ? "Tolerant" : "Intolerant") + (detaches ? "Detaching" : "");
    });

TEST(DfuOverUsbErrors, whatTheDeviceRefusesIsSaidInWords) {
  Bench bench;
  const auto updated = update_over_dfu({}, test::firmware_image("9.9.9", 500, "other"));
  ASSERT_FALSE(updated);
  EXPECT_EQ(updated.error().kind, ErrorKind::bad_file);
  EXPECT_EQ(
      updated.error().text(),
      "1209:a551 at 1-2: writing byte 0 of 756: the image is for another device (errTARGET), "
      "\"the image is for another board\"; take the image that is for this board; the board was "
      "reset and runs the firmware that it has");
  EXPECT_EQ(list_usb_devices()->front().role, UsbRole::dfu_runtime);
  EXPECT_EQ(bench.board.running_version(), "1.0.0");
  const auto again = update_over_dfu({}, image("1.1.0"));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(bench.board.running_version(), "1.1.0");
}

TEST(DfuOverUsbErrors, whatCannotLeaveDfuModeIsSaidToBeInIt) {
  DfuBoard empty;
  MockUsb usb(empty, test::dfu_identity);
  ASSERT_EQ(list_usb_devices()->front().role, UsbRole::dfu);
  const auto updated =
      update_over_dfu({}, test::firmware_image("9.9.9", 500, "other"), {.return_timeout_ns = 1});
  ASSERT_FALSE(updated);
  EXPECT_THAT(updated.error().hint, HasSubstr("the board is left in DFU mode: it takes an image"));
  const auto first = update_over_dfu({}, image("1.0.0"));
  ASSERT_TRUE(first) << first.error().text();
}

// In the middle of the transfer, and while the board is on its way into DFU mode.
TEST(DfuOverUsbErrors, aCancelledUpdateLeavesTheBoardRunning) {
  for (const DfuPhase phase : {DfuPhase::detach, DfuPhase::write}) {
    SCOPED_TRACE(static_cast<int>(phase));
    Bench bench;
    CancelToken cancel;
    const auto updated =
        update_over_dfu({.id = "1209:a550"}, image("1.1.0"),
                        {.transfer = {.cancel = &cancel}, .on_phase = [&](DfuPhase now) {
                           if (now == phase) cancel.cancel();
                         }});
    ASSERT_FALSE(updated);
    EXPECT_EQ(updated.error().kind, ErrorKind::cancelled);
    EXPECT_THAT(updated.error().hint, HasSubstr("runs the firmware that it has"));
    EXPECT_EQ(list_usb_devices()->front().id(), "1209:a550");
    EXPECT_EQ(bench.board.running_version(), "1.0.0");
    EXPECT_TRUE(update_over_dfu({.id = "1209:a550"}, image("1.1.0")));
  }
}

TEST(DfuOverUsbSuffix, aFileIsForTheBoardAsItRunsOrInDfuModeOrForNeither) {
  const struct {
    std::uint16_t product;
    bool fits;
  } cases[] = {{0xA550, true}, {0xA551, true}, {any_id, true}, {0xA552, false}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.product);
    Bench bench;
    const Bytes before = bench.board.flash().bytes();
    const auto updated = update_over_dfu(
        {}, image("1.1.0"), {.suffix = DfuSuffix{.vendor = 0x1209, .product = c.product}});
    EXPECT_EQ(updated.has_value(), c.fits);
    if (c.fits) continue;
    EXPECT_EQ(updated.error().kind, ErrorKind::bad_file);
    EXPECT_THAT(updated.error().text(), HasSubstr("the file is for USB device 1209:a552"));
    EXPECT_EQ(bench.board.flash().bytes(), before);
    EXPECT_EQ(list_usb_devices()->front().role, UsbRole::dfu_runtime);
  }
}

// A reset ends the trial: then it takes another image.
TEST(DfuOverUsbErrors, anImageOnTrialIsInTheWayOnce) {
  Bench bench;
  ASSERT_TRUE(update_over_dfu({}, image("1.1.0")));
  const auto refused = update_over_dfu({}, image("1.2.0"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(refused.error().hint, HasSubstr("assay fw flash"));
  EXPECT_EQ(bench.board.running_version(), "1.0.0");
  EXPECT_TRUE(update_over_dfu({}, image("1.2.0")));
  EXPECT_EQ(bench.board.running_version(), "1.2.0");
}

TEST(DfuOverUsbErrors, anUnplugIsToldAndThePluggedInBoardIsUpdated) {
  Bench bench;
  for (const int request : {0, 1, 2, 10, 30}) {
    SCOPED_TRACE(request);
    bench.usb->unplug_in(request);
    const auto updated = update_over_dfu({}, image("1.1.0"), {.return_timeout_ns = ns_per_s / 5});
    ASSERT_FALSE(updated);
    EXPECT_TRUE(updated.error().kind == ErrorKind::vanished ||
                updated.error().kind == ErrorKind::timeout)
        << updated.error().text();
    bench.usb->plug_in();
    EXPECT_EQ(bench.board.running_version(), "1.0.0");
  }
  const auto updated = update_over_dfu({}, image("1.1.0"));
  ASSERT_TRUE(updated) << updated.error().text();
  EXPECT_EQ(bench.board.running_version(), "1.1.0");
}

TEST(DfuOverUsbErrors, aBoardThatDoesNotComeBackIsNotWaitedForWhenCancelled) {
  Bench bench;
  bench.usb->unplug_in(0);
  CancelToken cancel;
  const auto updated = update_over_dfu({}, image("1.1.0"),
                                       {.transfer = {.cancel = &cancel},
                                        .return_timeout_ns = 3600 * ns_per_s,
                                        .on_phase = [&](DfuPhase) { cancel.cancel(); }});
  ASSERT_FALSE(updated);
  EXPECT_EQ(updated.error().kind, ErrorKind::cancelled);
}

TEST(DfuOverUsbErrors, whoeverHoldsTheInterfaceIsNamed) {
  Bench bench;
  bench.usb->hold_interface("usbfs");
  EXPECT_EQ(update_over_dfu({}, image("1.1.0")).error().text(),
            "1209:a550 at 1-2: in use by another program; close it; `fuser /dev/bus/usb/001/002` "
            "names it");
}

TEST(DfuOverUsbErrors, aDriverOfTheKernelsIsNamed) {
  Bench bench;
  bench.usb->hold_interface("usbtest");
  const auto updated = update_over_dfu({}, image("1.1.0"));
  ASSERT_FALSE(updated);
  EXPECT_EQ(updated.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(updated.error().text(),
            "1209:a550 at 1-2: its DFU interface is held by the kernel's driver usbtest; `echo "
            "1-2:1.0 | sudo tee /sys/bus/usb/drivers/usbtest/unbind`");
}

TEST(DfuOverUsbErrors, whatIsNotThereIsSaid) {
  Bench bench;
  EXPECT_THAT(
      update_over_dfu({.serial = "R0043"}, image("1.1.0")).error().text(),
      HasSubstr("no such device that speaks DFU is plugged in; check the cable and the "
                "board's power; there are: 1209:a550 at 1-2 serial R0042 (--usb-serial R0042)"));
  const auto devices = list_usb_devices();
  ASSERT_TRUE(devices);
  UsbDevice gone = devices->front();
  gone.address = 77;
  EXPECT_EQ(open_dfu(gone).error().kind, ErrorKind::vanished);
  EXPECT_EQ(open_dfu(devices->back()).error().kind, ErrorKind::usage);
}

TEST(DfuUtil, seesTheDevice) {
  Bench bench;
  const auto listed = dfu_util({"-l"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("Found Runtime: [1209:a550] ver=0203"));
  EXPECT_THAT(listed.out, HasSubstr("serial=\"R0042\""));
}

TEST_P(DfuOverUsb, dfuUtilWritesTheSameBytesIntoTheSlot) {
  Bench bench(GetParam());
  const test::Scratch folder;
  const Bytes next = image("1.1.0");
  folder.write("image.dfu", text(add_dfu_suffix(next, {.vendor = 0x1209, .product = 0xA551})));
  const auto flashed = dfu_util({"-d", "1209:a550,1209:a551", "-R", "-D", folder / "image.dfu"});
  ASSERT_TRUE(test::eventually(20, [&] { return bench.usb->enumerations() == 3; }))
      << flashed.out << flashed.err;
  EXPECT_EQ(bench.board.running_version(), "1.1.0") << flashed.out << flashed.err;
  Bytes slot(next.size());
  ASSERT_TRUE(bench.board.slots().read(bench.board.slots().running(), 0, slot.data(),
                                       static_cast<std::uint32_t>(slot.size())));
  EXPECT_EQ(slot, next);
}

TEST(DfuUtil, readsTheSameBytesOutOfTheSlot) {
  Bench bench;
  const test::Scratch folder;
  const auto read = dfu_util({"-d", "1209:a550,1209:a551", "-U", folder / "image.bin"});
  EXPECT_EQ(read.exit_code, 0) << read.out << read.err;
  EXPECT_EQ(folder.content("image.bin"), text(image("1.0.0")));
}

}  // namespace
}  // namespace assay::firmware
