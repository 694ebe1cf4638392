#include "probes/pcie/link_sample.h"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace assay::probes {
namespace {

double carries(const Link& link) {
  return lane_bandwidth_gbps(link.speed_gts) * link.width;
}

bool write(const Machine& machine, const std::string& file, std::string_view word) {
  const auto fd = machine.open(file, O_WRONLY | O_TRUNC);
  return fd && ::write(fd->get(), word.data(), word.size()) == static_cast<ssize_t>(word.size());
}

}  // namespace

LinkSample sample_link(PciFunction first, const std::function<bool(const Link&)>& good,
                       const std::function<std::optional<PciFunction>()>& read_again,
                       const std::function<bool()>& wait) {
  LinkSample sample{.best = std::move(first)};
  while (!good(*sample.best.link()) && sample.readings < max_link_readings && wait()) {
    auto next = read_again();
    if (!next || next->link() == nullptr) break;
    ++sample.readings;
    if (carries(*next->link()) > carries(*sample.best.link())) sample.best = std::move(*next);
  }
  return sample;
}

KeptAwake::KeptAwake(const Machine& machine, const std::vector<std::string>& addresses)
    : machine_(machine) {
  for (const std::string& address : addresses) {
    std::string file = "/sys/bus/pci/devices/" + address + "/power/control";
    const auto mode = machine.read_line(file);
    if (mode && *mode == "auto" && write(machine, file, "on")) changed_.push_back(std::move(file));
  }
}

KeptAwake::~KeptAwake() {
  for (const std::string& file : changed_) write(machine_, file, "auto");
}

}  // namespace assay::probes
