#include "tests/firmware/mock_usb.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <linux/usbdevice_fs.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/clock.h"

namespace assay::test {
namespace {

constexpr const char* board_path = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-2";

// A root hub: device, configuration, one interface without its endpoint.
constexpr const char* hub_text =
    "P: /devices/pci0000:00/0000:00:14.0/usb1\n"
    "N: bus/usb/001/001\n"
    "E: SUBSYSTEM=usb\nE: DEVTYPE=usb_device\nE: DEVNAME=/dev/bus/usb/001/001\n"
    "E: BUSNUM=001\nE: DEVNUM=001\nE: MAJOR=189\nE: MINOR=0\n"
    "A: busnum=1\\n\nA: devnum=1\\n\nA: bConfigurationValue=1\\n\nA: speed=480\\n\n"
    "H: descriptors="
    "12010002090001406B1D0200060603020101"
    "09021200010100E000090400000009000000\n";

std::uint32_t now_ms() {
  return static_cast<std::uint32_t>(monotonic_ns() / ns_per_ms);
}

}  // namespace

MockUsb::MockUsb(DfuBoard& board, const device::DfuIdentity& identity)
    : board_(board),
      identity_(identity),
      bed_(umockdev_testbed_new()),
      ioctls_(umockdev_ioctl_base_new()) {
  g_signal_connect(ioctls_.get(), "handle-ioctl", G_CALLBACK(&MockUsb::on_ioctl), this);
  g_signal_connect(ioctls_.get(), "client-vanished", G_CALLBACK(&MockUsb::on_vanished), this);
  EXPECT_TRUE(umockdev_testbed_add_from_string(bed_.get(), hub_text, nullptr));
  // What is not on this bus is the kernel's: a terminal shall stay one.
  gchar* const root = umockdev_testbed_get_root_dir(bed_.get());
  std::filesystem::remove(std::filesystem::path(root) / "ioctl/_default");
  g_free(root);
  const std::scoped_lock lock(mutex_);
  board_.now_ms = now_ms();
  add();
}

MockUsb::~MockUsb() {
  // Ends umockdev's thread, which looks at the members below.
  bed_.reset();
}

// What the kernel does with a device that is new: reads its descriptors, configures it, and gives
// it an address that it did not have before. The nodes of earlier addresses answer ENODEV.
void MockUsb::add() {
  std::string hex;
  for (const auto& [type, length] : {std::pair{0x0100, 18}, std::pair{0x0200, 255}}) {
    const auto reply = board_.control(
        {0x80, 6, static_cast<std::uint16_t>(type), 0, static_cast<std::uint16_t>(length)});
    for (const std::uint8_t byte : reply.data) hex += fmt::format("{:02X}", byte);
  }
  board_.control({0x00, 9, 1, 0, 0});
  const int address = 2 + enumerations_++;
  node_ = fmt::format("/dev/bus/usb/001/{:03}", address);
  const std::string text = fmt::format(
      "P: /devices/pci0000:00/0000:00:14.0/usb1/1-2\n"
      "N: bus/usb/001/{0:03}\n"
      "E: SUBSYSTEM=usb\nE: DEVTYPE=usb_device\nE: DEVNAME=/dev/bus/usb/001/{0:03}\n"
      "E: BUSNUM=001\nE: DEVNUM={0:03}\nE: MAJOR=189\nE: MINOR={1}\n"
      "A: busnum=1\\n\nA: devnum={0}\\n\nA: bConfigurationValue=1\\n\nA: speed=12\\n\n"
      "A: serial={2}\\n\nA: product={3}\\n\n"
      "H: descriptors={4}\n",
      address, address - 1, identity_.serial, identity_.product, hex);
  GError* error = nullptr;
  EXPECT_TRUE(umockdev_testbed_add_from_string(bed_.get(), text.c_str(), &error))
      << (error != nullptr ? error->message : "");
  EXPECT_TRUE(umockdev_testbed_attach_ioctl(bed_.get(), node_.c_str(), ioctls_.get(), &error))
      << (error != nullptr ? error->message : "");
}

void MockUsb::remove() {
  umockdev_testbed_uevent(bed_.get(), board_path, "remove");
  umockdev_testbed_remove_device(bed_.get(), board_path);
  node_.clear();
}

void MockUsb::unplug_in(int request) {
  const std::scoped_lock lock(mutex_);
  unplug_at_ = requests_ + request;
}

void MockUsb::plug_in() {
  const std::scoped_lock lock(mutex_);
  if (!node_.empty()) remove();
  unplug_at_ = -1;
  board_.power_on();
  add();
}

void MockUsb::hold_interface(const std::string& driver) {
  {
    const std::scoped_lock lock(mutex_);
    held_ = true;
  }
  const std::string text = fmt::format(
      "P: /devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0\n"
      "E: SUBSYSTEM=usb\nE: DEVTYPE=usb_interface\n"
      "L: driver=../../../../../../bus/usb/drivers/{}\n",
      driver);
  EXPECT_TRUE(umockdev_testbed_add_from_string(bed_.get(), text.c_str(), nullptr));
}

int MockUsb::enumerations() {
  const std::scoped_lock lock(mutex_);
  return enumerations_;
}

gboolean MockUsb::on_ioctl(UMockdevIoctlBase*, UMockdevIoctlClient* client, gpointer self) {
  auto* usb = static_cast<MockUsb*>(self);
  const std::scoped_lock lock(usb->mutex_);
  usb->handle(client);
  return TRUE;
}

void MockUsb::on_vanished(UMockdevIoctlBase*, UMockdevIoctlClient* client, gpointer self) {
  auto* usb = static_cast<MockUsb*>(self);
  const std::scoped_lock lock(usb->mutex_);
  usb->done_.erase(client);
}

// Whatever happens to the board is over when the ioctl returns. Else umockdev would tell of it
// while the client closes the socket that it is told by, and abort.
void MockUsb::handle(UMockdevIoctlClient* client) {
  const gulong request = umockdev_ioctl_client_get_request(client);
  const bool there = node_ == umockdev_ioctl_client_get_devnode(client);
  if (!there && request != USBDEVFS_REAPURBNDELAY) {
    umockdev_ioctl_client_complete(client, -1, ENODEV);
    return;
  }
  switch (request) {
    case USBDEVFS_GET_CAPABILITIES: {
      const Object<UMockdevIoctlData> flags(umockdev_ioctl_data_resolve(
          umockdev_ioctl_client_get_arg(client), 0, sizeof(std::uint32_t), nullptr));
      std::uint32_t none = 0;
      umockdev_ioctl_data_update(flags.get(), 0, reinterpret_cast<guint8*>(&none), sizeof none);
      umockdev_ioctl_client_complete(client, 0, 0);
      return;
    }
    case USBDEVFS_CLAIMINTERFACE:
      umockdev_ioctl_client_complete(client, held_ ? -1 : 0, held_ ? EBUSY : 0);
      return;
    case USBDEVFS_RELEASEINTERFACE:
    case USBDEVFS_SETINTERFACE:
      umockdev_ioctl_client_complete(client, 0, 0);
      return;
    case USBDEVFS_RESET:
      reset(client);
      return;
    case USBDEVFS_SUBMITURB:
      submit(client);
      return;
    case USBDEVFS_REAPURBNDELAY:
      reap(client);
      return;
    default:
      umockdev_ioctl_client_complete(client, -1, ENOTTY);
  }
}

void MockUsb::submit(UMockdevIoctlClient* client) {
  Object<UMockdevIoctlData> data(umockdev_ioctl_data_resolve(umockdev_ioctl_client_get_arg(client),
                                                             0, sizeof(usbdevfs_urb), nullptr));
  usbdevfs_urb urb;
  std::memcpy(&urb, data->data, sizeof urb);
  if (urb.type != USBDEVFS_URB_TYPE_CONTROL || urb.buffer_length < 8) {
    umockdev_ioctl_client_complete(client, -1, EINVAL);
    return;
  }
  const Object<UMockdevIoctlData> buffer(umockdev_ioctl_data_resolve(
      data.get(), offsetof(usbdevfs_urb, buffer), static_cast<gsize>(urb.buffer_length), nullptr));
  const device::SetupPacket setup = device::parse_setup(buffer->data);
  const bool to_dfu = setup.request_type == 0x21 || setup.request_type == 0xA1;
  if (to_dfu && requests_++ == unplug_at_) {
    remove();
    umockdev_ioctl_client_complete(client, -1, ENODEV);
    return;
  }
  board_.now_ms = now_ms();
  auto reply =
      board_.control(setup, {buffer->data + 8, static_cast<std::size_t>(urb.buffer_length - 8)});
  urb.status = reply.stalled ? -EPIPE : 0;
  const bool in = (setup.request_type & device::request_in) != 0;
  urb.actual_length = in ? static_cast<int>(reply.data.size()) : setup.length;
  if (reply.stalled) urb.actual_length = 0;
  if (!reply.data.empty()) {
    umockdev_ioctl_data_update(buffer.get(), 8, reply.data.data(),
                               static_cast<gint>(reply.data.size()));
  }
  umockdev_ioctl_data_update(data.get(), 0, reinterpret_cast<guint8*>(&urb), sizeof urb);
  done_[client] = std::move(data);
  if (board_.dfu().wants_reattach()) {
    remove();
    add();
  }
  umockdev_ioctl_client_complete(client, 0, 0);
}

void MockUsb::reap(UMockdevIoctlClient* client) {
  const auto done = done_.find(client);
  if (done == done_.end()) {
    const bool there = node_ == umockdev_ioctl_client_get_devnode(client);
    umockdev_ioctl_client_complete(client, -1, there ? EAGAIN : ENODEV);
    return;
  }
  const Object<UMockdevIoctlData> pointer(umockdev_ioctl_data_resolve(
      umockdev_ioctl_client_get_arg(client), 0, sizeof(void*), nullptr));
  umockdev_ioctl_data_set_ptr(pointer.get(), 0, done->second.get());
  done_.erase(done);
  umockdev_ioctl_client_complete(client, 0, 0);
}

// As usb_reset_device() in the kernel: one that is another device behind it is enumerated anew.
void MockUsb::reset(UMockdevIoctlClient* client) {
  const bool was_dfu = board_.dfu().in_dfu_mode();
  board_.now_ms = now_ms();
  board_.bus_reset();
  if (board_.dfu().wants_reset()) board_.power_on();
  const bool another = board_.dfu().in_dfu_mode() != was_dfu;
  if (another) {
    remove();
    add();
  } else {
    board_.control({0x00, 9, 1, 0, 0});
  }
  umockdev_ioctl_client_complete(client, another ? -1 : 0, another ? ENODEV : 0);
}

}  // namespace assay::test
