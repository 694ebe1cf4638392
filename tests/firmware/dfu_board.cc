#include "tests/firmware/dfu_board.h"

#include <gtest/gtest.h>

namespace assay::test {

using device::DfuRequest;
using device::DfuState;

DfuBoard::DfuBoard(const device::DfuIdentity& identity, std::uint32_t slot_bytes)
    : identity_(identity),
      layout_{{0, 4096}, {8192, 8192 + slot_bytes}, slot_bytes},
      flash_(2 + 2 * slot_bytes / 4096, 4096) {
  power_on();
}

void DfuBoard::power_on() {
  flash_.power_on();
  slots_ = std::make_unique<device::Slots>(flash_.chip(), layout_, board);
  slots_->boot();
  dfu_ = std::make_unique<device::DfuDevice>(identity_, times, *slots_);
  dfu_->start();
}

void DfuBoard::install(const std::vector<std::uint8_t>& image) {
  ASSERT_EQ(slots_->begin_update(), device::UpdateError::none);
  ASSERT_EQ(slots_->write(image.data(), static_cast<std::uint32_t>(image.size())),
            device::UpdateError::none);
  ASSERT_EQ(slots_->finish_update(), device::UpdateError::none);
  power_on();
  ASSERT_TRUE(slots_->confirm());
}

void DfuBoard::enter_dfu_mode() {
  if (dfu_->state() == DfuState::app_idle) {
    ASSERT_FALSE(request(DfuRequest::detach, 1000).stalled);
    bus_reset();
  }
  ASSERT_TRUE(dfu_->in_dfu_mode());
  ASSERT_FALSE(control({0x00, 9, 1, 0, 0}).stalled);
}

DfuBoard::Reply DfuBoard::control(const device::SetupPacket& setup,
                                  std::span<const std::uint8_t> data) {
  const auto reply = dfu_->control(setup, data.data(), now_ms);
  Reply copy{reply.stalled, {}};
  if (reply.size > 0) copy.data.assign(reply.data, reply.data + reply.size);
  dfu_->work();
  return copy;
}

DfuBoard::Reply DfuBoard::request(DfuRequest request, std::uint16_t value,
                                  std::span<const std::uint8_t> data, std::uint16_t length) {
  const bool in = request == DfuRequest::upload || request == DfuRequest::get_status ||
                  request == DfuRequest::get_state;
  if (request == DfuRequest::get_status) length = device::dfu_status_bytes;
  if (request == DfuRequest::get_state) length = 1;
  return control({static_cast<std::uint8_t>(device::class_to_interface | (in ? 0x80 : 0)),
                  static_cast<std::uint8_t>(request), value, 0,
                  in ? length : static_cast<std::uint16_t>(data.size())},
                 data);
}

std::string DfuBoard::version_in(std::uint8_t slot) const {
  device::ImageHeader header;
  if (slot == device::no_slot || !slots_->image_in(slot, &header)) return "none";
  return header.version;
}

}  // namespace assay::test
