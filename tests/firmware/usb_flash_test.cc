// `assay usb flash` as a person runs it, on umockdev's bus with the reference device behind it,
// with and without the board's serial port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "firmware/image/dfu_suffix.h"
#include "firmware/usb/usb_list.h"
#include "tests/base/scratch.h"
#include "tests/firmware/board_uart.h"
#include "tests/firmware/bytes.h"
#include "tests/firmware/dfu_board.h"
#include "tests/firmware/firmware_image.h"
#include "tests/firmware/mock_usb.h"
#include "tests/support/program.h"

namespace assay::firmware {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A board of the profile "m6", which runs 1.0.0.
class UsbFlash : public testing::Test {
 protected:
  UsbFlash() {
    board_.install(test::firmware_image("1.0.0", 2999, "m6"));
    usb_.emplace(board_, test::dfu_identity);
    folder_.write("m6.json",
                  R"({"schema": "assay/board/1", "id": "m6", "name": "M6", "serial_pattern": "^R",
      "uart": {"match": [{"usb": "0403:6001"}], "baud": [115200], "query": "AT+NPUCFG?"},
      "firmware": {"minimum": "1.0.0", "image": "1.1.0.bin"},
      "usb": [{"id": "1209:a550", "role": "dfu"}]})");
  }
  std::string file(const std::string& name, const Bytes& bytes) {
    folder_.write(name, {bytes.begin(), bytes.end()});
    return folder_ / name;
  }
  std::string image(const std::string& version, std::uint32_t payload_bytes = 2999) {
    return file(version + ".bin", test::firmware_image(version, payload_bytes, "m6"));
  }
  test::Finished flash(const std::string& path, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"usb", "flash", path, "--board", folder_ / "m6.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::assay(arguments);
  }
  // The report, and the exit code as "exit_code".
  json report(const std::string& path, std::vector<std::string> more = {}) {
    more.push_back("--json");
    const auto done = flash(path, more);
    json parsed = json::parse(done.out, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << done.out << done.err;
    if (!parsed.is_object()) parsed = json::object();
    parsed["exit_code"] = done.exit_code;
    return parsed;
  }
  static json measured(const json& report, const std::string& name) {
    for (const json& one : report["steps"][0]["measurements"]) {
      if (one["name"] == name) return one["value"];
    }
    return nullptr;
  }
  std::string runs() {
    std::string version;
    usb_->with_board([&](test::DfuBoard& board) { version = board.running_version(); });
    return version;
  }
  bool on_trial() {
    bool answer = false;
    usb_->with_board([&](test::DfuBoard& board) { answer = board.slots().on_trial(); });
    return answer;
  }

  test::Scratch folder_;
  test::DfuBoard board_;
  std::optional<test::MockUsb> usb_;
};

TEST_F(UsbFlash, withoutAUartTheImageIsSaidToBeOnTrialAndHowItIsConfirmed) {
  const json done = report(image("1.1.0"));
  EXPECT_EQ(done["exit_code"], 0);
  EXPECT_EQ(done["steps"][0]["headline"], "m6 1.1.0 written, on trial: not confirmed");
  ASSERT_EQ(done["observations"].size(), 1u) << done.dump(1);
  EXPECT_EQ(done["observations"][0]["code"], "FIRMWARE_ON_TRIAL");
  EXPECT_THAT(done["observations"][0]["remedy"].dump(), HasSubstr("assay fw flash"));
  EXPECT_TRUE(on_trial());

  usb_->plug_in();
  const auto lines = flash(folder_ / "1.1.0.bin");
  EXPECT_EQ(lines.exit_code, 0) << lines.out << lines.err;
  EXPECT_THAT(lines.out, HasSubstr("on trial"));
  EXPECT_THAT(lines.out, HasSubstr("assay fw flash"));
  EXPECT_THAT(test::assay({"usb", "flash", "--help"}).out, HasSubstr("on trial"));
}

TEST_F(UsbFlash, overTheUartItIsConfirmedAndBothVersionsAreRecorded) {
  const test::BoardUart uart(*usb_);
  const json done = report(image("1.1.0"), {"--port", uart.path()});
  EXPECT_EQ(done["exit_code"], 0) << done.dump(1);
  EXPECT_EQ(done["steps"][0]["headline"], "1.0.0 -> 1.1.0");
  EXPECT_EQ(measured(done, "version_before"), "1.0.0");
  EXPECT_EQ(measured(done, "version"), "1.1.0");
  EXPECT_TRUE(done["observations"].empty());
  EXPECT_FALSE(on_trial());
  usb_->plug_in();
  EXPECT_EQ(runs(), "1.1.0");
}

// An earlier update's, that nobody confirmed: it is in the way of this one.
TEST_F(UsbFlash, overTheUartAnImageOnTrialIsLetGo) {
  ASSERT_EQ(flash(image("1.1.0")).exit_code, 0);
  ASSERT_TRUE(on_trial());
  const test::BoardUart uart(*usb_);
  const json done = report(image("1.2.0"), {"--port", uart.path()});
  EXPECT_EQ(done["exit_code"], 0) << done.dump(1);
  EXPECT_EQ(measured(done, "version_before"), "1.0.0");
  EXPECT_EQ(runs(), "1.2.0");
  EXPECT_FALSE(on_trial());
}

TEST_F(UsbFlash, whatAnswersWithAnotherVersionIsNotConfirmed) {
  const test::BoardUart uart(*usb_, "7.0.0");
  const json done = report(image("1.1.0"), {"--port", uart.path()});
  EXPECT_EQ(done["exit_code"], 1);
  ASSERT_EQ(done["findings"].size(), 1u);
  EXPECT_THAT(done["findings"][0]["evidence"][0], HasSubstr("runs 7.0.0, not 1.1.0"));
  EXPECT_THAT(done["findings"][0]["likely"].dump(), HasSubstr("another board"));
  EXPECT_TRUE(on_trial());
}

TEST_F(UsbFlash, aRefusalForATrialHasARemedyAndIsNoFaultOfTheBoard) {
  ASSERT_EQ(flash(image("1.1.0")).exit_code, 0);
  const auto refused = flash(image("1.2.0"));
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.out + refused.err, HasSubstr("assay fw flash  with the same image"));
  EXPECT_EQ(flash(image("1.2.0")).exit_code, 0) << "the trial is over";
}

TEST_F(UsbFlash, aFailureNamesCausesOnUsbNotOnASerialLine) {
  usb_->unplug_in(8);
  const json done = report(image("1.1.0"));
  EXPECT_EQ(done["exit_code"], 1);
  ASSERT_EQ(done["findings"].size(), 1u) << done.dump(1);
  EXPECT_EQ(done["findings"][0]["code"], "FIRMWARE_UPDATE_FAILED");
  EXPECT_THAT(done["findings"][0]["likely"].dump(), HasSubstr("hub"));
  EXPECT_THAT(done["findings"][0]["likely"].dump(), Not(HasSubstr("serial line")));
  EXPECT_THAT(done["findings"][0]["remedy"].dump(), HasSubstr("assay usb list"));
}

TEST_F(UsbFlash, whatTheDeviceDoesNotTakeIsWrongUseAndTheSameCommandFindsItAgain) {
  const Bytes next = test::firmware_image("1.1.0", 2999, "m6");
  const auto too_large = flash(image("1.3.0", 100'000));
  EXPECT_EQ(too_large.exit_code, 2) << too_large.out << too_large.err;
  const auto wrong =
      flash(file("wrong.dfu", add_dfu_suffix(next, {.vendor = 0x1234, .product = 0xA551})));
  EXPECT_EQ(wrong.exit_code, 2) << wrong.out << wrong.err;
  EXPECT_THAT(wrong.out + wrong.err, HasSubstr("the file is for USB device 1234:a551"));
  EXPECT_EQ(runs(), "1.0.0");
  const auto right =
      flash(file("right.dfu", add_dfu_suffix(next, {.vendor = 0x1209, .product = 0xA551})),
            {"--device", "1209:a550"});
  EXPECT_EQ(right.exit_code, 0) << right.out << right.err;
  EXPECT_EQ(runs(), "1.1.0");
}

}  // namespace
}  // namespace assay::firmware
