// Requests of the host's DFU client straight into a DfuBoard, and what can go wrong on the way.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "firmware/usb/dfu_client.h"
#include "tests/firmware/dfu_board.h"

namespace assay::test {

class InProcessDfu final : public firmware::DfuControl {
 public:
  using Request = firmware::DfuRequest;

  explicit InProcessDfu(DfuBoard& board) : board_(board) {}

  // The device is pulled out, and its power goes with it, in the `request`th request from now, 0
  // being the next one.
  void unplug_in(int request) { unplug_at_ = requests_ + request; }
  void plug_in() {
    unplug_at_.reset();
    board_.power_on();
    board_.enter_dfu_mode();
  }
  bool unplugged() const { return unplug_at_ && requests_ > *unplug_at_; }
  // That request fails so and does not reach the device.
  void fail_in(int request, ErrorKind kind) { failure_ = {requests_ + request, kind}; }
  int requests() const { return requests_; }
  // The device's answers, to be changed.
  std::function<void(Request request, std::vector<std::uint8_t>* data)> change;

  Result<std::vector<std::uint8_t>> control_in(Request request, std::uint16_t value,
                                               std::uint16_t length) override;
  Result<> control_out(Request request, std::uint16_t value,
                       std::span<const std::uint8_t> data) override;
  Result<std::string> string(std::uint8_t index) override;
  Result<> reset() override;
  void wait(std::int64_t ns) override;
  const std::string& name() const override { return name_; }

 private:
  Result<> pass();

  DfuBoard& board_;
  std::string name_ = "1209:a551 at 1-2";
  std::int64_t part_of_ms_ns_ = 0;
  int requests_ = 0;
  std::optional<int> unplug_at_;
  std::optional<std::pair<int, ErrorKind>> failure_;
};

}  // namespace assay::test
