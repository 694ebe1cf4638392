// The serial port of a board that is on a MockUsb too: its firmware's AT commands behind a
// pseudo-terminal. In DFU mode nobody answers.
#pragma once

#include <string>
#include <thread>

#include "firmware/device/at_server.h"
#include "tests/firmware/mock_usb.h"
#include "tests/firmware/pseudo_terminal.h"

namespace assay::test {

class BoardUart {
 public:
  // The bus outlives it. With `version` it says that it runs that one.
  explicit BoardUart(MockUsb& usb, std::string version = {});
  const std::string& path() const { return terminal_.path; }

 private:
  void serve(const std::stop_token& stop);
  bool confirm();
  bool reset();
  bool say_status();

  static const device::Command commands[3];
  MockUsb& usb_;
  std::string fixed_version_;
  std::string version_;
  firmware::PseudoTerminal terminal_;
  DfuBoard* board_ = nullptr;  // while it answers
  device::AtServer server_;
  std::jthread thread_;  // the last: it uses all the others
};

}  // namespace assay::test
