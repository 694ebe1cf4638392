#include "firmware/usb/usb_error.h"

#include <fmt/core.h>
#include <libusb.h>
#include <unistd.h>

#include "base/file_group.h"

namespace assay::firmware {
namespace {

// "usbfs" is another program; empty when no driver holds the interface.
std::string driver_of(const UsbDevice& device, int configuration, int interface) {
  const std::string link =
      fmt::format("/sys/bus/usb/devices/{}:{}.{}/driver", device.port, configuration, interface);
  char target[256];
  const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
  if (length <= 0) return {};
  const std::string path(target, static_cast<std::size_t>(length));
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::unexpected<Error> usb_failure(int code, const std::string& doing, const std::string& name) {
  switch (code) {
    case LIBUSB_ERROR_PIPE:
      return fail(ErrorKind::protocol, "refused to " + doing, name);
    case LIBUSB_ERROR_NO_DEVICE:
      return fail(ErrorKind::vanished, "the device went away", name,
                  "check the cable and the board's power, then start again");
    case LIBUSB_ERROR_TIMEOUT:
      return fail(ErrorKind::timeout, "did not " + doing + " in time", name,
                  "power-cycle the board and try once more");
    case LIBUSB_ERROR_ACCESS:
      return fail(ErrorKind::unavailable, "no permission to " + doing, name,
                  "run as root, or give your user access by a udev rule");
    case LIBUSB_ERROR_BUSY:
      return fail(ErrorKind::unavailable, "in use by another program or driver", name,
                  "close what uses it");
    case LIBUSB_ERROR_NOT_FOUND:
      return fail(ErrorKind::vanished, "the device is not there any more", name,
                  "check the cable and the board's power, then start again");
    case LIBUSB_ERROR_NO_MEM:
      return fail(ErrorKind::exhausted, "no memory to " + doing, name,
                  "usbfs' own limit is /sys/module/usbcore/parameters/usbfs_memory_mb");
    case LIBUSB_ERROR_IO:
      return fail(ErrorKind::io, "the bus failed, to " + doing, name,
                  "try another cable and another port, without a hub");
    case LIBUSB_ERROR_OVERFLOW:
      return fail(ErrorKind::io, "sent more than was asked for, to " + doing, name,
                  "power-cycle the board and try once more");
    default:
      return fail(ErrorKind::io, fmt::format("cannot {}: {}", doing, libusb_strerror(code)), name,
                  "power-cycle the board and try once more");
  }
}

std::unexpected<Error> usb_open_failure(int code, const UsbDevice& device) {
  if (code != LIBUSB_ERROR_ACCESS) return usb_failure(code, "open the device", device.name());
  const std::string group = file_group(device.node());
  const std::string what = "no permission to open " + device.node();
  if (!group.empty()) {
    return fail(ErrorKind::unavailable, what, device.name(),
                fmt::format("it belongs to group {0}: `sudo usermod -aG {0} $USER`, then log in "
                            "again",
                            group));
  }
  return fail(ErrorKind::unavailable, what, device.name(),
              fmt::format("write SUBSYSTEM==\"usb\", ATTR{{idVendor}}==\"{:04x}\", "
                          "ATTR{{idProduct}}==\"{:04x}\", MODE=\"0660\", TAG+=\"uaccess\" into "
                          "/etc/udev/rules.d/70-assay.rules, `sudo udevadm control --reload`, and "
                          "plug the board in again",
                          device.vendor, device.product));
}

std::unexpected<Error> usb_claim_failure(int code, const UsbDevice& device, int configuration,
                                         int interface) {
  if (code != LIBUSB_ERROR_BUSY) return usb_failure(code, "claim the interface", device.name());
  const std::string driver = driver_of(device, configuration, interface);
  if (driver.empty() || driver == "usbfs") {
    return fail(ErrorKind::unavailable, "in use by another program", device.name(),
                fmt::format("close it; `fuser {}` names it", device.node()));
  }
  return fail(ErrorKind::unavailable,
              fmt::format("its DFU interface is held by the kernel's driver {}", driver),
              device.name(),
              fmt::format("`echo {}:{}.{} | sudo tee /sys/bus/usb/drivers/{}/unbind`", device.port,
                          configuration, interface, driver));
}

}  // namespace assay::firmware
