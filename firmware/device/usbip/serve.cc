#include "firmware/device/usbip/serve.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "firmware/device/usbip/message.h"

namespace assay::firmware::device::usbip {
namespace {

constexpr std::uint8_t get_descriptor = 6;
constexpr std::uint16_t device_descriptor = 0x0100;
// Linux asks for so much of it behind each reset of the port, and never else.
constexpr std::uint16_t first_descriptor_bytes = 64;

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

// An answer to one control request; what is sent to the host is put behind `reply`.
Message answer(gadget::Board& board, const Submit& submit, const std::vector<std::uint8_t>& data,
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
    board.bus_reset();
  }
  const ControlReply answered = board.control(setup, data.data());
  if (answered.stalled) return write_submitted(submit.sequence, -EPIPE, 0);
  if (in) reply->assign(answered.data, answered.data + answered.size);
  return write_submitted(submit.sequence, 0, in ? answered.size : setup.length);
}

}  // namespace

gadget::End serve(gadget::Board& board, int socket) {
  for (;;) {
    Message message;
    if (!read_all(socket, message.data(), message.size())) return gadget::End::unplugged;
    if (const auto unlink = parse_unlink(message)) {
      // Each request is answered before the next one is read: that one was.
      const Message answered = write_unlinked(unlink->sequence, 0);
      if (!write_all(socket, answered.data(), answered.size())) return gadget::End::unplugged;
      continue;
    }
    const auto submit = parse_submit(message);
    if (!submit) return gadget::End::nonsense;
    std::vector<std::uint8_t> data(submit->in ? 0 : submit->data_bytes);
    if (!read_all(socket, data.data(), data.size())) return gadget::End::unplugged;
    std::vector<std::uint8_t> reply;
    const Message answered = answer(board, *submit, data, &reply);
    if (!write_all(socket, answered.data(), answered.size()) ||
        !write_all(socket, reply.data(), reply.size())) {
      return gadget::End::unplugged;
    }
    // Behind the answer: the host waits as it was told.
    board.work();
    if (board.wants_reattach()) return gadget::End::reattach;
  }
}

}  // namespace assay::firmware::device::usbip
