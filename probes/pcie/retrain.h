// Asks a port to train its link again (PCI Express Base 5.0, section 7.5.3.7, Retrain Link).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/machine.h"
#include "base/result.h"
#include "probes/pcie/pci_express.h"

namespace assay::probes {

inline constexpr std::int64_t retrain_timeout_ns = 1'000'000'000;

struct Retrained {
  Link before;
  Link after;
};

// `address`: a root port or a switch's downstream port. `keep_waiting` is asked between two looks
// at Link Training, after waiting itself. Errors: usage when it is no such port or not there;
// access without root; timeout when the link still trains.
Result<Retrained> retrain_link(const Machine& machine, const std::string& address,
                               const std::function<bool()>& keep_waiting);

}  // namespace assay::probes
