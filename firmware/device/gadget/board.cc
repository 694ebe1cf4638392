#include "firmware/device/gadget/board.h"

#include <time.h>

namespace assay::firmware::device::gadget {
namespace {

constexpr std::uint8_t set_configuration = 9;

std::uint32_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint32_t>(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

}  // namespace

Board::Board(const DfuIdentity& identity, const DfuTimes& times, const Flash& flash,
             const FlashLayout& layout, const char* name)
    : identity_(identity), times_(times), flash_(flash), layout_(layout), name_(name) {
  power_on();
}

void Board::power_on() {
  slots_ = std::make_unique<Slots>(flash_, layout_, name_);
  slots_->boot();
  dfu_ = std::make_unique<DfuDevice>(identity_, times_, *slots_);
  dfu_->start();
}

ControlReply Board::control(const SetupPacket& setup, const std::uint8_t* data) {
  const ControlReply answered = dfu_->control(setup, data, now_ms());
  // An image that a host has enumerated can be replaced again: that is good enough to keep it.
  if (!answered.stalled && setup.request == set_configuration && setup.request_type == 0 &&
      !dfu_->in_dfu_mode()) {
    slots_->confirm();
  }
  return answered;
}

void Board::bus_reset() {
  dfu_->bus_reset(now_ms());
  if (dfu_->wants_reset()) power_on();
}

}  // namespace assay::firmware::device::gadget
