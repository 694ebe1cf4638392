// Which device is meant, and what is said when it cannot be used: without any USB.
#include "firmware/usb/dfu_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libusb.h>

#include "firmware/usb/usb_error.h"

namespace assay::firmware {
namespace {

using testing::HasSubstr;

UsbDevice device(const std::string& port, std::uint16_t product, UsbRole role,
                 const std::string& serial = "") {
  return {.vendor = 0x1209, .product = product, .serial = serial, .role = role, .port = port};
}

const std::vector<UsbDevice> bench = {
    device("1-1", 0xA550, UsbRole::dfu_runtime, "R1"), device("1-2", 0xA551, UsbRole::dfu, "R2"),
    device("1-3", 0x6001, UsbRole::serial, "R3"), device("usb1", 2, UsbRole::hub)};

TEST(SelectDfuDevice, byIdAndSerial) {
  EXPECT_EQ(select_dfu_device(bench, {.ids = {"1209:A550"}})->port, "1-1");
  EXPECT_EQ(select_dfu_device(bench, {.ids = {"1d50:6017", "1209:a551"}})->port, "1-2");
  EXPECT_EQ(select_dfu_device(bench, {.serial = "R2"})->port, "1-2");
  EXPECT_EQ(select_dfu_device({bench[1], bench[3]}, {})->port, "1-2");
}

// The profile's ids are for when nobody says which board it is.
TEST(SelectDfuDevice, aSerialNumberIsEnough) {
  EXPECT_EQ(select_dfu_device(bench, {.ids = {"1d6b:0104"}, .serial = "R1"})->port, "1-1");
  EXPECT_EQ(select_dfu_device(bench, {.ids = {"1d6b:0104"}, .serial = "R2"})->port, "1-2");
}

// A board that an earlier update has left in DFU mode has another id there.
TEST(SelectDfuDevice, aBoardThatIsInDfuModeIsFoundByTheIdThatItRunsWith) {
  const std::vector<UsbDevice> left = {bench[1], bench[2], bench[3]};
  EXPECT_EQ(select_dfu_device(left, {.id = "1209:a550", .serial = "R2"})->port, "1-2");
  EXPECT_EQ(select_dfu_device(left, {.ids = {"1209:a551"}, .id = "1209:a550"})->port, "1-2");

  // Nobody says that it is this one: what is there, and how it is picked.
  const auto other = select_dfu_device(left, {.ids = {"1d6b:0104"}, .id = "1209:a550"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(other.error().hint,
              HasSubstr("1209:a551 at 1-2 serial R2 in DFU mode (--usb-serial R2)"));
  const auto nameless = select_dfu_device({device("1-4", 0xA551, UsbRole::dfu)}, {.id = "1:2"});
  EXPECT_EQ(nameless.error().kind, ErrorKind::usage) << "no id";
  EXPECT_THAT(
      select_dfu_device({device("1-4", 0xA551, UsbRole::dfu)}, {.id = "1209:a550"}).error().hint,
      HasSubstr("1209:a551 at 1-4 in DFU mode (--device 1209:a551)"));
  const auto two = select_dfu_device({bench[1], device("1-4", 0xA551, UsbRole::dfu, "R4")},
                                     {.ids = {"1209:a551"}, .id = "1209:a550"});
  EXPECT_EQ(two.error().kind, ErrorKind::usage);
}

// Another id is another board as long as it runs.
TEST(SelectDfuDevice, aRunningBoardOfAnotherIdIsNotTaken) {
  EXPECT_FALSE(select_dfu_device(bench, {.id = "1209:a552", .serial = "R1"}));
  EXPECT_FALSE(select_dfu_device({bench[0]}, {.ids = {"1209:a550"}, .id = "1209:a552"}));
  EXPECT_FALSE(select_dfu_device(bench, {.id = "1209:a550", .serial = "R9"}));
}

TEST(SelectDfuDevice, noneAndSeveralAreSaid) {
  EXPECT_EQ(
      select_dfu_device(bench, {}).error().text(),
      "USB: 2 devices speak DFU: 1209:a550 at 1-1 serial R1 (--usb-serial R1), 1209:a551 at 1-2 "
      "serial R2 in DFU mode (--usb-serial R2); name the one that is meant");
  const auto not_dfu = select_dfu_device(bench, {.serial = "R3"});
  ASSERT_FALSE(not_dfu);
  EXPECT_EQ(not_dfu.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(not_dfu.error().hint,
              HasSubstr("there are: 1209:a550 at 1-1 serial R1 (--usb-serial R1), "));
  EXPECT_EQ(select_dfu_device({}, {}).error().hint, "check the cable and the board's power");
  for (const char* id : {"", "1209", "1209-a551", "1209:a55g", "01209:a551", "::::::::1"}) {
    EXPECT_EQ(select_dfu_device(bench, {.ids = {id}}).error().kind, ErrorKind::usage) << id;
  }
}

TEST(UsbErrors, withoutPermissionTheUdevRuleIsGiven) {
  const Error error =
      usb_open_failure(LIBUSB_ERROR_ACCESS, device("1-2", 0xA551, UsbRole::dfu)).error();
  EXPECT_EQ(error.kind, ErrorKind::unavailable);
  EXPECT_EQ(error.text(),
            "1209:a551 at 1-2: no permission to open /dev/bus/usb/000/000; write "
            "SUBSYSTEM==\"usb\", ATTR{idVendor}==\"1209\", ATTR{idProduct}==\"a551\", "
            "MODE=\"0660\", TAG+=\"uaccess\" into /etc/udev/rules.d/70-assay.rules, `sudo udevadm "
            "control --reload`, and plug the board in again");
}

TEST(UsbErrors, eachHasWordsAndWhatToDo) {
  const struct {
    int code;
    ErrorKind kind;
  } cases[] = {{LIBUSB_ERROR_PIPE, ErrorKind::protocol},
               {LIBUSB_ERROR_NO_DEVICE, ErrorKind::vanished},
               {LIBUSB_ERROR_NOT_FOUND, ErrorKind::vanished},
               {LIBUSB_ERROR_TIMEOUT, ErrorKind::timeout},
               {LIBUSB_ERROR_ACCESS, ErrorKind::unavailable},
               {LIBUSB_ERROR_BUSY, ErrorKind::unavailable},
               {LIBUSB_ERROR_NO_MEM, ErrorKind::exhausted},
               {LIBUSB_ERROR_IO, ErrorKind::io},
               {LIBUSB_ERROR_OVERFLOW, ErrorKind::io},
               {LIBUSB_ERROR_INTERRUPTED, ErrorKind::io},
               {LIBUSB_ERROR_OTHER, ErrorKind::io}};
  for (const auto& c : cases) {
    const Error error = usb_failure(c.code, "tell its status", "x").error();
    EXPECT_EQ(error.kind, c.kind) << c.code;
    EXPECT_FALSE(error.what.empty());
    EXPECT_EQ(error.hint.empty(), c.kind == ErrorKind::protocol) << c.code;
  }
}

}  // namespace
}  // namespace assay::firmware
