#include "firmware/device/gadgetfs/gadgetfs.h"

#include <fcntl.h>
#include <linux/usb/gadgetfs.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "firmware/device/dfu_descriptors.h"

namespace assay::firmware::device::gadgetfs {
namespace {

namespace fs = std::filesystem;

// The one file of a fresh gadgetfs: the controller's endpoint 0. The others are endpoints'.
std::string controller_in(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with("ep")) return entry.path();
  }
  return {};
}

// Tag 0, the configuration for full and for high speed, the device.
std::vector<std::uint8_t> descriptors(const gadget::Board& board) {
  constexpr std::size_t tag_bytes = 4;
  std::vector<std::uint8_t> all(tag_bytes + 2 * configuration_descriptor_bytes +
                                device_descriptor_bytes);
  std::uint8_t* const first = all.data() + tag_bytes;
  std::uint8_t* const second = first + configuration_descriptor_bytes;
  write_configuration_descriptor(board.identity(), board.in_dfu_mode(), first);
  write_configuration_descriptor(board.identity(), board.in_dfu_mode(), second);
  write_device_descriptor(board.identity(), board.in_dfu_mode(),
                          second + configuration_descriptor_bytes);
  return all;
}

// A request that its host has given up meanwhile is no error: the next one comes.
void answer(gadget::Board& board, int controller, const SetupPacket& setup) {
  const bool in = (setup.request_type & request_in) != 0;
  std::vector<std::uint8_t> data(in ? 0 : setup.length);
  // Reading acknowledges; after that gadgetfs has no stall. The host learns of a block that is not
  // taken by the status that it asks for.
  if (!data.empty() &&
      ::read(controller, data.data(), data.size()) != static_cast<ssize_t>(data.size())) {
    return;
  }
  const ControlReply reply = board.control(setup, data.data());
  std::uint8_t nothing = 0;
  if (!data.empty()) return;
  // The wrong direction is a stall.
  const bool write = in != reply.stalled;
  const ssize_t done = write ? ::write(controller, in ? reply.data : &nothing, in ? reply.size : 0)
                             : ::read(controller, &nothing, 0);
  (void)done;
}

}  // namespace

int plug_in(const std::string& folder, const gadget::Board& board, std::string* error) {
  // gadgetfs acknowledges data before it was read, and forgets it with the host's next request: be
  // there first. On more than one processor that can still be lost; the image's hash then tells.
  const sched_param first{.sched_priority = 1};
  if (::sched_setscheduler(0, SCHED_FIFO, &first) != 0) {
    *error = std::string("no real-time priority: ") + std::strerror(errno);
    return -1;
  }
  const std::string path = controller_in(folder);
  if (path.empty()) {
    *error = folder + ": no controller (is gadgetfs mounted, and a controller there?)";
    return -1;
  }
  const int controller = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto all = descriptors(board);
  if (controller >= 0 &&
      ::write(controller, all.data(), all.size()) == static_cast<ssize_t>(all.size())) {
    return controller;
  }
  *error = path + ": " + std::strerror(errno);
  if (controller >= 0) ::close(controller);
  return -1;
}

gadget::End serve(gadget::Board& board, int controller) {
  const bool was_in_dfu_mode = board.in_dfu_mode();
  for (;;) {
    usb_gadgetfs_event event{};
    const ssize_t count = ::read(controller, &event, sizeof event);
    // EIDRM: the host has given up the request before.
    if (count < 0 && (errno == EINTR || errno == EIDRM)) continue;
    if (count < 0) return gadget::End::unplugged;
    if (count != sizeof event) return gadget::End::nonsense;
    if (event.type == GADGETFS_DISCONNECT) {
      board.bus_reset();
      // It has other descriptors now.
      if (board.in_dfu_mode() != was_in_dfu_mode) return gadget::End::reattach;
    }
    if (event.type != GADGETFS_SETUP) continue;
    std::uint8_t packet[setup_packet_bytes];
    static_assert(sizeof packet == sizeof event.u.setup);
    std::memcpy(packet, &event.u.setup, sizeof packet);
    answer(board, controller, parse_setup(packet));
    // Behind the answer: the host waits as it was told.
    board.work();
    if (board.wants_reattach()) return gadget::End::reattach;
  }
}

}  // namespace assay::firmware::device::gadgetfs
