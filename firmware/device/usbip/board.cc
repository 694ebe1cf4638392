#include "firmware/device/usbip/board.h"

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace assay::firmware::device::usbip {
namespace {

constexpr std::uint8_t get_descriptor = 6;
constexpr std::uint8_t set_configuration = 9;
constexpr std::uint16_t device_descriptor = 0x0100;
// Linux asks for so much of it behind each reset of the port, and never else.
constexpr std::uint16_t first_descriptor_bytes = 64;

std::uint32_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint32_t>(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

bool read_all(int socket, std::uint8_t* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t count = ::read(socket, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool write_all(int socket, const std::uint8_t* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t count = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
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

Message Board::answer(const Submit& submit, const std::vector<std::uint8_t>& data,
                      std::vector<std::uint8_t>* reply) {
  const SetupPacket setup = parse_setup(submit.setup.data());
  const bool in = (setup.request_type & request_in) != 0;
  // There is one endpoint. A request whose data does not fit it never leaves a host controller.
  if (submit.endpoint != 0 || in != submit.in || submit.data_bytes != setup.length) {
    return write_submitted(submit.sequence, -EPIPE, 0);
  }
  // vhci_hcd keeps the resets of its port to itself; what follows one gives it away.
  if (in && setup.request == get_descriptor && setup.value == device_descriptor &&
      setup.length == first_descriptor_bytes) {
    dfu_->bus_reset(now_ms());
    if (dfu_->wants_reset()) power_on();
  }
  const ControlReply answered = dfu_->control(setup, data.data(), now_ms());
  if (answered.stalled) return write_submitted(submit.sequence, -EPIPE, 0);
  // An image that a host has enumerated can be replaced again: that is good enough to keep it.
  if (setup.request == set_configuration && setup.request_type == 0 && !dfu_->in_dfu_mode()) {
    slots_->confirm();
  }
  if (in) reply->assign(answered.data, answered.data + answered.size);
  return write_submitted(submit.sequence, 0, in ? answered.size : setup.length);
}

Board::End Board::serve(int socket) {
  for (;;) {
    Message message;
    if (!read_all(socket, message.data(), message.size())) return End::unplugged;
    if (const auto unlink = parse_unlink(message)) {
      // Each request is answered before the next one is read: that one was.
      const Message answered = write_unlinked(unlink->sequence, 0);
      if (!write_all(socket, answered.data(), answered.size())) return End::unplugged;
      continue;
    }
    const auto submit = parse_submit(message);
    if (!submit) return End::nonsense;
    std::vector<std::uint8_t> data(submit->in ? 0 : submit->data_bytes);
    if (!read_all(socket, data.data(), data.size())) return End::unplugged;
    std::vector<std::uint8_t> reply;
    const Message answered = answer(*submit, data, &reply);
    if (!write_all(socket, answered.data(), answered.size()) ||
        !write_all(socket, reply.data(), reply.size())) {
      return End::unplugged;
    }
    // Behind the answer: the host waits as it was told.
    dfu_->work();
    if (dfu_->wants_reattach()) return End::reattach;
  }
}

}  // namespace assay::firmware::device::usbip
