#include "tests/firmware/board_uart.h"

#include <poll.h>
#include <unistd.h>

#include <utility>

namespace assay::test {

// Handlers are members; the server knows functions.
const device::Command BoardUart::commands[] = {
    {"AT+CONFIRM",
     [](void* self, const char*) { return static_cast<BoardUart*>(self)->confirm(); }},
    {"AT+RESET", [](void* self, const char*) { return static_cast<BoardUart*>(self)->reset(); }},
    {"AT+STATUS?",
     [](void* self, const char*) { return static_cast<BoardUart*>(self)->say_status(); }},
};

BoardUart::BoardUart(MockUsb& usb, std::string version)
    : usb_(usb),
      fixed_version_(std::move(version)),
      server_({"", "SN"},
              {[](void* self, const std::uint8_t* bytes, std::size_t size) {
                 (void)!::write(static_cast<BoardUart*>(self)->terminal_.master.get(), bytes, size);
               },
               this},
              {commands, 3, this}),
      thread_([this](const std::stop_token& stop) { serve(stop); }) {}

void BoardUart::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd file{terminal_.master.get(), POLLIN, 0};
    std::uint8_t byte = 0;
    if (::poll(&file, 1, 20) <= 0 || ::read(terminal_.master.get(), &byte, 1) != 1) continue;
    usb_.with_board([&](DfuBoard& board) {
      if (board.dfu().in_dfu_mode()) return;
      board_ = &board;
      version_ = fixed_version_.empty() ? board.running_version() : fixed_version_;
      server_.set_version(version_.c_str());
      server_.receive(byte);
    });
  }
}

bool BoardUart::confirm() {
  return board_->slots().confirm();
}

bool BoardUart::reset() {
  board_->power_on();
  return true;
}

bool BoardUart::say_status() {
  server_.send_line("STATUS:", board_->slots().on_trial() ? "0,TRIAL,-" : "0,CONFIRMED,-");
  return true;
}

}  // namespace assay::test
