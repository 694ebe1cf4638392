#include "firmware/device/dfu_descriptors.h"

#include "firmware/device/bytes.h"

namespace assay::firmware::device {
namespace {

constexpr std::uint8_t type_device = 1;
constexpr std::uint8_t type_configuration = 2;
constexpr std::uint8_t type_string = 3;
constexpr std::uint8_t type_interface = 4;
constexpr std::uint16_t us_english = 0x0409;

std::uint8_t index(DfuString string) {
  return static_cast<std::uint8_t>(string);
}

}  // namespace

void write_device_descriptor(const DfuIdentity& identity, bool dfu_mode,
                             std::uint8_t out[device_descriptor_bytes]) {
  out[0] = device_descriptor_bytes;
  out[1] = type_device;
  put16(out + 2, 0x0200);
  out[4] = 0;  // the class is the interface's
  out[5] = 0;
  out[6] = 0;
  out[7] = 64;
  put16(out + 8, identity.vendor);
  put16(out + 10, dfu_mode ? identity.dfu_product : identity.runtime_product);
  put16(out + 12, identity.release);
  out[14] = index(DfuString::manufacturer);
  out[15] = index(DfuString::product);
  out[16] = index(DfuString::serial);
  out[17] = 1;
}

void write_configuration_descriptor(const DfuIdentity& identity, bool dfu_mode,
                                    std::uint8_t out[configuration_descriptor_bytes]) {
  out[0] = 9;
  out[1] = type_configuration;
  put16(out + 2, configuration_descriptor_bytes);
  out[4] = 1;     // interfaces
  out[5] = 1;     // its number
  out[6] = 0;     // no name
  out[7] = 0x80;  // powered by the bus
  out[8] = 50;    // 100 mA

  std::uint8_t* interface = out + 9;
  interface[0] = 9;
  interface[1] = type_interface;
  interface[2] = 0;  // its number
  interface[3] = 0;  // its only setting
  interface[4] = 0;  // no endpoint but the control endpoint
  interface[5] = dfu_interface_class;
  interface[6] = dfu_interface_subclass;
  interface[7] = dfu_mode ? dfu_protocol_dfu : dfu_protocol_runtime;
  interface[8] = index(DfuString::interface);

  std::uint8_t* functional = interface + 9;
  functional[0] = dfu_functional_bytes;
  functional[1] = dfu_functional_type;
  functional[2] = identity.attributes;
  put16(functional + 3, identity.detach_timeout_ms);
  put16(functional + 5, identity.transfer_bytes);
  put16(functional + 7, 0x0110);
}

std::uint16_t write_string_descriptor(const char* text, std::uint8_t out[most_descriptor_bytes]) {
  std::uint16_t size = 2;
  for (; *text != '\0' && size < most_descriptor_bytes; ++text, size += 2) {
    put16(out + size, static_cast<std::uint8_t>(*text));
  }
  out[0] = static_cast<std::uint8_t>(size);
  out[1] = type_string;
  return size;
}

std::uint16_t write_language_descriptor(std::uint8_t out[most_descriptor_bytes]) {
  out[0] = 4;
  out[1] = type_string;
  put16(out + 2, us_english);
  return 4;
}

}  // namespace assay::firmware::device
