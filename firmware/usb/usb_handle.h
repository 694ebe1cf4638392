// libusb's objects, owned. For the sources of this folder alone.
#pragma once

#include <libusb.h>

#include <memory>
#include <span>
#include <utility>

#include "base/result.h"

namespace assay::firmware {

struct UsbExit {
  void operator()(libusb_context* context) const { libusb_exit(context); }
};
using UsbContext = std::unique_ptr<libusb_context, UsbExit>;

struct UsbClose {
  void operator()(libusb_device_handle* handle) const { libusb_close(handle); }
};
using UsbHandle = std::unique_ptr<libusb_device_handle, UsbClose>;

struct UsbFreeConfiguration {
  void operator()(libusb_config_descriptor* configuration) const {
    libusb_free_config_descriptor(configuration);
  }
};
using UsbConfiguration = std::unique_ptr<libusb_config_descriptor, UsbFreeConfiguration>;

// The devices are valid as long as the list, and the list as long as the context.
class UsbDevices {
 public:
  UsbDevices() = default;
  UsbDevices(libusb_device** devices, std::size_t count) : devices_(devices), count_(count) {}
  UsbDevices(UsbDevices&& other) noexcept
      : devices_(std::exchange(other.devices_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  UsbDevices& operator=(UsbDevices&& other) noexcept {
    std::swap(devices_, other.devices_);
    std::swap(count_, other.count_);
    return *this;
  }
  UsbDevices(const UsbDevices&) = delete;
  UsbDevices& operator=(const UsbDevices&) = delete;
  ~UsbDevices() {
    if (devices_ != nullptr) libusb_free_device_list(devices_, 1);
  }

  std::span<libusb_device* const> get() const { return {devices_, count_}; }

 private:
  libusb_device** devices_ = nullptr;
  std::size_t count_ = 0;
};

// ErrorKind::unavailable when this machine has no USB.
Result<UsbContext> open_usb();
Result<UsbDevices> get_devices(libusb_context* context);
// The one that is in use, or the first one. Null when the device says none that can be read.
UsbConfiguration get_configuration(libusb_device* device);

}  // namespace assay::firmware
