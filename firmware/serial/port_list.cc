#include "firmware/serial/port_list.h"

#include <fmt/core.h>
#include <libserialport.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/usb_id.h"
#include "base/utf8.h"

namespace assay::firmware {
namespace {

struct ListDeleter {
  void operator()(sp_port** ports) const { sp_free_port_list(ports); }
};

// What a USB device says about itself is not to be trusted on a terminal.
std::string printable(const char* text) {
  return text ? to_printable(text) : std::string();
}

}  // namespace

Result<std::vector<PortInfo>> list_ports() {
  sp_port** raw = nullptr;
  if (sp_list_ports(&raw) != SP_OK) {
    return fail(ErrorKind::unavailable, "cannot list the serial ports", "/sys/class/tty");
  }
  const std::unique_ptr<sp_port*, ListDeleter> list(raw);
  std::vector<PortInfo> ports;
  for (sp_port** port = list.get(); *port; ++port) {
    PortInfo info;
    info.path = printable(sp_get_port_name(*port));
    info.description = printable(sp_get_port_description(*port));
    int vendor = 0;
    int product = 0;
    if (sp_get_port_transport(*port) == SP_TRANSPORT_USB &&
        sp_get_port_usb_vid_pid(*port, &vendor, &product) == SP_OK) {
      info.usb_id = fmt::format("{:04x}:{:04x}", vendor, product);
      info.usb_serial = printable(sp_get_port_usb_serial(*port));
    }
    ports.push_back(std::move(info));
  }
  std::sort(ports.begin(), ports.end(),
            [](const PortInfo& a, const PortInfo& b) { return a.path < b.path; });
  return ports;
}

Result<std::vector<PortInfo>> select_ports(const std::vector<PortInfo>& ports,
                                           const std::vector<std::string>& matches) {
  std::vector<std::string> ids;
  for (const std::string& match : matches) {
    ids.push_back(lower_case(match));
    if (!is_usb_id(ids.back())) {
      return fail(ErrorKind::usage, "not a USB id", to_printable(match),
                  "write vendor:product in hexadecimal, as in 1a86:7523");
    }
  }
  std::vector<PortInfo> selected;
  std::copy_if(ports.begin(), ports.end(), std::back_inserter(selected), [&](const PortInfo& port) {
    return std::find(ids.begin(), ids.end(), port.usb_id) != ids.end();
  });
  return selected;
}

Result<std::vector<PortInfo>> find_ports(const std::vector<std::string>& matches) {
  const auto ports = list_ports();
  if (!ports) return ports;
  return select_ports(*ports, matches);
}

}  // namespace assay::firmware
