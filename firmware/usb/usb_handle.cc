#include "firmware/usb/usb_handle.h"

#include "firmware/usb/usb_error.h"

namespace assay::firmware {

Result<UsbContext> open_usb() {
  libusb_context* context = nullptr;
  if (const int code = libusb_init(&context); code != LIBUSB_SUCCESS) {
    return fail(ErrorKind::unavailable, std::string("USB cannot be used: ") + libusb_strerror(code),
                "/dev/bus/usb", "check that the machine has USB and that /dev/bus/usb is there");
  }
  return UsbContext(context);
}

Result<UsbDevices> get_devices(libusb_context* context) {
  libusb_device** devices = nullptr;
  const ssize_t count = libusb_get_device_list(context, &devices);
  if (count < 0) return usb_failure(static_cast<int>(count), "list the devices", "/dev/bus/usb");
  return UsbDevices(devices, static_cast<std::size_t>(count));
}

UsbConfiguration get_configuration(libusb_device* device) {
  libusb_config_descriptor* configuration = nullptr;
  if (libusb_get_active_config_descriptor(device, &configuration) != LIBUSB_SUCCESS &&
      libusb_get_config_descriptor(device, 0, &configuration) != LIBUSB_SUCCESS) {
    return nullptr;
  }
  return UsbConfiguration(configuration);
}

}  // namespace assay::firmware
