#include "firmware/usb/usb_dfu.h"

#include <fmt/core.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/utf8.h"
#include "firmware/usb/usb_error.h"
#include "firmware/usb/usb_handle.h"

namespace assay::firmware {
namespace {

// Some devices erase within the request.
constexpr unsigned request_timeout_ms = 10'000;

std::string doing(DfuRequest request) {
  switch (request) {
    case DfuRequest::detach:
      return "enter DFU mode";
    case DfuRequest::download:
      return "take a block";
    case DfuRequest::upload:
      return "give a block";
    case DfuRequest::get_status:
      return "tell its status";
    case DfuRequest::clear_status:
      return "clear its status";
    case DfuRequest::get_state:
      return "tell its state";
    case DfuRequest::abort:
      return "abort the transfer";
  }
  return "answer";
}

class UsbDfu final : public DfuControl {
 public:
  UsbDfu(UsbContext context, UsbHandle handle, int interface, std::string name)
      : context_(std::move(context)),
        handle_(std::move(handle)),
        interface_(interface),
        name_(std::move(name)) {}
  ~UsbDfu() override { libusb_release_interface(handle_.get(), interface_); }

  Result<std::vector<std::uint8_t>> control_in(DfuRequest request, std::uint16_t value,
                                               std::uint16_t length) override {
    std::vector<std::uint8_t> data(length);
    const int count = libusb_control_transfer(
        handle_.get(), device::class_to_interface | device::request_in,
        static_cast<std::uint8_t>(request), value, static_cast<std::uint16_t>(interface_),
        data.data(), length, request_timeout_ms);
    if (count < 0) return usb_failure(count, doing(request), name_);
    data.resize(static_cast<std::size_t>(count));
    return data;
  }

  Result<> control_out(DfuRequest request, std::uint16_t value,
                       std::span<const std::uint8_t> data) override {
    // libusb takes what it sends as bytes that could be changed, and does not.
    const int count = libusb_control_transfer(
        handle_.get(), device::class_to_interface, static_cast<std::uint8_t>(request), value,
        static_cast<std::uint16_t>(interface_), const_cast<std::uint8_t*>(data.data()),
        static_cast<std::uint16_t>(data.size()), request_timeout_ms);
    if (count < 0) return usb_failure(count, doing(request), name_);
    if (static_cast<std::size_t>(count) != data.size()) {
      return fail(ErrorKind::io, fmt::format("took {} of {} bytes", count, data.size()), name_,
                  "power-cycle the board and try once more");
    }
    return {};
  }

  Result<std::string> string(std::uint8_t index) override {
    std::array<unsigned char, 256> text{};
    const int count = libusb_get_string_descriptor_ascii(handle_.get(), index, text.data(),
                                                         static_cast<int>(text.size()));
    if (count < 0) return usb_failure(count, "give its words", name_);
    return to_printable(std::string(text.begin(), text.begin() + count));
  }

  Result<> reset() override {
    const int code = libusb_reset_device(handle_.get());
    // It came back as another one, or is about to.
    if (code == LIBUSB_SUCCESS || code == LIBUSB_ERROR_NOT_FOUND ||
        code == LIBUSB_ERROR_NO_DEVICE) {
      return {};
    }
    return usb_failure(code, "be reset", name_);
  }

  void wait(std::int64_t ns) override {
    timespec left{static_cast<time_t>(ns / ns_per_s), static_cast<long>(ns % ns_per_s)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
  }

  const std::string& name() const override { return name_; }

 private:
  UsbContext context_;
  UsbHandle handle_;
  int interface_;
  std::string name_;
};

// The setting of a DFU interface that is wanted. `seen` counts those that there are up to it.
const libusb_interface_descriptor* find_setting(const libusb_config_descriptor& configuration,
                                                int alternate, bool dfu_mode, int* seen) {
  for (const libusb_interface& interface :
       std::span(configuration.interface, configuration.bNumInterfaces)) {
    for (const libusb_interface_descriptor& setting :
         std::span(interface.altsetting, static_cast<std::size_t>(interface.num_altsetting))) {
      if (setting.bInterfaceClass != device::dfu_interface_class ||
          setting.bInterfaceSubClass != device::dfu_interface_subclass) {
        continue;
      }
      ++*seen;
      if (!dfu_mode || setting.bAlternateSetting == alternate) return &setting;
    }
  }
  return nullptr;
}

std::span<const std::uint8_t> extra(const unsigned char* bytes, int length) {
  return {bytes, static_cast<std::size_t>(length)};
}

struct Claimed {
  UsbHandle handle;
  int interface;
  DfuFunctional functional;
};

Result<Claimed> claim_dfu(libusb_context* context, const UsbDevice& device, int alternate) {
  const auto devices = get_devices(context);
  if (!devices) return std::unexpected(devices.error());
  libusb_device* found = nullptr;
  for (libusb_device* candidate : devices->get()) {
    if (libusb_get_bus_number(candidate) == device.bus &&
        libusb_get_device_address(candidate) == device.address) {
      found = candidate;
    }
  }
  if (found == nullptr) return usb_failure(LIBUSB_ERROR_NO_DEVICE, "open", device.name());

  const UsbConfiguration configuration = get_configuration(found);
  int settings = 0;
  const bool dfu_mode = device.role == UsbRole::dfu;
  const libusb_interface_descriptor* setting =
      configuration ? find_setting(*configuration, alternate, dfu_mode, &settings) : nullptr;
  if (setting == nullptr) {
    return fail(ErrorKind::usage,
                settings == 0
                    ? "has no DFU interface"
                    : fmt::format("has no DFU setting {}, it has {}", alternate, settings),
                device.name(), "`dfu-util -l` shows what there is");
  }
  auto functional =
      find_dfu_functional(extra(setting->extra, setting->extra_length), device.name());
  // Some put it behind the configuration.
  if (!functional && configuration->extra_length > 0) {
    functional = find_dfu_functional(extra(configuration->extra, configuration->extra_length),
                                     device.name());
  }
  if (!functional) return std::unexpected(functional.error());

  libusb_device_handle* opened = nullptr;
  if (const int code = libusb_open(found, &opened); code != LIBUSB_SUCCESS) {
    return usb_open_failure(code, device);
  }
  Claimed claimed{UsbHandle(opened), setting->bInterfaceNumber, *functional};
  if (const int code = libusb_claim_interface(opened, claimed.interface); code != LIBUSB_SUCCESS) {
    return usb_claim_failure(code, device, configuration->bConfigurationValue, claimed.interface);
  }
  if (dfu_mode) {
    const int code = libusb_set_interface_alt_setting(opened, claimed.interface, alternate);
    // One with a single setting need not know the request.
    if (code != LIBUSB_SUCCESS && !(code == LIBUSB_ERROR_PIPE && settings == 1)) {
      return usb_failure(code, fmt::format("take setting {}", alternate), device.name());
    }
  }
  return claimed;
}

}  // namespace

Result<OpenDfu> open_dfu(const UsbDevice& device, int alternate) {
  auto context = open_usb();
  if (!context) return std::unexpected(context.error());
  auto claimed = claim_dfu(context->get(), device, alternate);
  if (!claimed) return std::unexpected(claimed.error());
  return OpenDfu{std::make_unique<UsbDfu>(std::move(*context), std::move(claimed->handle),
                                          claimed->interface, device.name()),
                 claimed->functional};
}

}  // namespace assay::firmware
