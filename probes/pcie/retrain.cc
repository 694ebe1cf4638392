#include "probes/pcie/retrain.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/clock.h"
#include "probes/pcie/devices.h"

namespace assay::probes {
namespace {

constexpr std::size_t lnkctl_in_capability = 0x10;
constexpr std::uint16_t retrain = 1u << 5;

}  // namespace

Result<Retrained> retrain_link(const Machine& machine, const std::string& address,
                               const std::function<bool()>& keep_waiting) {
  const auto port = read_pci_function(machine, address);
  if (!port) {
    return fail(ErrorKind::usage, "no PCI function is there", address,
                "assay pcie  lists them, as 0000:00:02.0");
  }
  const auto* capability = port->capabilities.find(capability_id::pci_express);
  if (port->cut && (capability == nullptr || port->link() == nullptr)) {
    return fail(ErrorKind::unavailable, "its capabilities cannot be read", address, "run as root");
  }
  const bool faces_down = port->express && (port->express->type == PortType::root_port ||
                                            port->express->type == PortType::downstream_port);
  if (capability == nullptr || port->link() == nullptr || !faces_down) {
    return fail(ErrorKind::usage, "is no port with a link below it", address,
                "name the root port, or the downstream port of a switch, above the device");
  }
  if (port->link()->disabled()) {
    return fail(ErrorKind::usage, "its link is disabled (LnkCtl)", address);
  }

  const std::string file = "/sys/bus/pci/devices/" + address + "/config";
  const auto fd = machine.open(file, O_WRONLY);
  if (!fd) return std::unexpected(fd.error());
  const auto asked = static_cast<std::uint16_t>(port->link()->lnkctl | retrain);
  const std::array<std::uint8_t, 2> bytes = {static_cast<std::uint8_t>(asked & 0xFF),
                                             static_cast<std::uint8_t>(asked >> 8)};
  const auto at = static_cast<off_t>(capability->at + lnkctl_in_capability);
  if (::pwrite(fd->get(), bytes.data(), bytes.size(), at) != 2) {
    return fail_errno(errno, "cannot write LnkCtl", file);
  }
  const std::int64_t end = monotonic_ns() + retrain_timeout_ns;
  while (true) {
    const bool going_on = keep_waiting();
    const auto now = read_pci_function(machine, address);
    if (!now || now->link() == nullptr) {
      return fail(ErrorKind::vanished, "the port is gone", address);
    }
    if (!now->link()->training()) return Retrained{*port->link(), *now->link()};
    if (!going_on) return fail(ErrorKind::cancelled, "stopped while the link trains", address);
    if (monotonic_ns() >= end) {
      return fail(ErrorKind::timeout, "the link still trains after a second", address);
    }
  }
}

}  // namespace assay::probes
