#include "firmware/usb/usb_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "base/utf8.h"
#include "firmware/device/dfu_protocol.h"
#include "firmware/usb/usb_handle.h"

namespace assay::firmware {
namespace {

constexpr std::uint8_t class_cdc = 0x02;
constexpr std::uint8_t subclass_acm = 0x02;
constexpr std::uint8_t class_hub = 0x09;
constexpr int most_port_numbers = 7;  // USB 2.0, 4.1.1: tiers below the root

// Adapters of a class of their own: FTDI's, Silicon Labs' CP210x, WCH's CH34x, Prolific's.
constexpr std::array<std::pair<std::uint16_t, std::uint16_t>, 8> serial_chips = {
    {{0x0403, 0x6001},
     {0x0403, 0x6010},
     {0x0403, 0x6011},
     {0x0403, 0x6014},
     {0x0403, 0x6015},
     {0x10C4, 0xEA60},
     {0x1A86, 0x7523},
     {0x067B, 0x2303}}};

UsbRole role_of(const libusb_interface_descriptor& setting) {
  if (setting.bInterfaceClass == device::dfu_interface_class &&
      setting.bInterfaceSubClass == device::dfu_interface_subclass) {
    return setting.bInterfaceProtocol == device::dfu_protocol_dfu ? UsbRole::dfu
                                                                  : UsbRole::dfu_runtime;
  }
  if (setting.bInterfaceClass == class_cdc && setting.bInterfaceSubClass == subclass_acm) {
    return UsbRole::serial;
  }
  return UsbRole::other;
}

// DFU before all else: that is what decides how the firmware is updated.
UsbRole role_of(const libusb_device_descriptor& descriptor,
                const libusb_config_descriptor* configuration) {
  if (descriptor.bDeviceClass == class_hub) return UsbRole::hub;
  UsbRole role = UsbRole::other;
  if (std::find(serial_chips.begin(), serial_chips.end(),
                std::pair(descriptor.idVendor, descriptor.idProduct)) != serial_chips.end()) {
    role = UsbRole::serial;
  }
  if (configuration == nullptr) return role;
  for (const libusb_interface& interface :
       std::span(configuration->interface, configuration->bNumInterfaces)) {
    for (const libusb_interface_descriptor& setting :
         std::span(interface.altsetting, static_cast<std::size_t>(interface.num_altsetting))) {
      role = std::max(role, role_of(setting));
    }
  }
  return role;
}

std::string port_of(libusb_device* device) {
  std::array<std::uint8_t, most_port_numbers> numbers{};
  const int count = libusb_get_port_numbers(device, numbers.data(), most_port_numbers);
  const int bus = libusb_get_bus_number(device);
  if (count <= 0) return fmt::format("usb{}", bus);
  std::string port = fmt::format("{}-{}", bus, numbers[0]);
  for (int i = 1; i < count; ++i) port += fmt::format(".{}", numbers[static_cast<std::size_t>(i)]);
  return port;
}

// The kernel has read the strings; asking the device would need permission.
std::string kernel_string(const std::string& port, const char* attribute) {
  std::ifstream file(fmt::format("/sys/bus/usb/devices/{}/{}", port, attribute));
  std::string line;
  std::getline(file, line);
  return to_printable(line);
}

}  // namespace

std::string to_text(UsbRole role) {
  switch (role) {
    case UsbRole::hub:
      return "hub";
    case UsbRole::serial:
      return "serial port";
    case UsbRole::dfu_runtime:
      return "can be updated over DFU";
    case UsbRole::dfu:
      return "in DFU mode";
    case UsbRole::other:
      break;
  }
  return "other";
}

std::string UsbDevice::id() const {
  return fmt::format("{:04x}:{:04x}", vendor, product);
}

std::string UsbDevice::name() const {
  return id() + " at " + port;
}

std::string UsbDevice::node() const {
  return fmt::format("/dev/bus/usb/{:03}/{:03}", bus, address);
}

Result<std::vector<UsbDevice>> list_usb_devices() {
  const auto context = open_usb();
  if (!context) return std::unexpected(context.error());
  const auto devices = get_devices(context->get());
  if (!devices) return std::unexpected(devices.error());
  std::vector<UsbDevice> list;
  for (libusb_device* device : devices->get()) {
    libusb_device_descriptor descriptor{};
    // It has just been pulled out.
    if (libusb_get_device_descriptor(device, &descriptor) != LIBUSB_SUCCESS) continue;
    UsbDevice entry;
    entry.vendor = descriptor.idVendor;
    entry.product = descriptor.idProduct;
    entry.release = descriptor.bcdDevice;
    entry.role = role_of(descriptor, get_configuration(device).get());
    entry.port = port_of(device);
    entry.bus = libusb_get_bus_number(device);
    entry.address = libusb_get_device_address(device);
    entry.serial = kernel_string(entry.port, "serial");
    entry.description = kernel_string(entry.port, "product");
    list.push_back(std::move(entry));
  }
  std::sort(list.begin(), list.end(),
            [](const UsbDevice& a, const UsbDevice& b) { return a.port < b.port; });
  return list;
}

}  // namespace assay::firmware
