#include <algorithm>

#include "reports/findings/finding.h"

namespace assay::reports {

std::span<const CatalogEntry> finding_catalog() {
  static const std::vector<CatalogEntry> catalog = {
      {"FIRMWARE_OUTDATED",
       "the firmware is older than the board's profile allows",
       {"the board was shipped with an early firmware",
        "an update was reverted after a failed boot"},
       {"flash the firmware that the profile names, then run the plan again"}},
      {"FIRMWARE_UPDATE_FAILED",
       "the board does not run the firmware that it was given",
       {"the power failed more than once during the update",
        "a serial line with noise, or an adapter that loses bytes",
        "the new image does not start on this board, and the board went back to the old one"},
       {"run  assay fw slots  to see what the board has",
        "check power and cable, then run the plan again"}},
      {"FIRMWARE_ON_TRIAL",
       "the new firmware is written and not confirmed",
       {"it was written over USB, which cannot confirm it, and no UART of the board was asked"},
       {"before the board starts anew, run  assay fw flash  with the same image: over the board's "
        "serial port it confirms what runs",
        "next time name the port beside USB: --port"}},
      {"SERIAL_MISMATCH",
       "the board gives another serial number than the one that was scanned",
       {"the label of another board was scanned", "the port belongs to the board beside it",
        "the label or the board's identification was exchanged"},
       {"scan the label of the board that is connected", "check which fixture the port belongs to"},
       /*stops_run=*/true},
      {"UART_NO_ANSWER",
       "the firmware does not answer on the serial port",
       {"the board has no power or hangs in its boot loader", "TX and RX are swapped or not joined",
        "the port belongs to another device"},
       {"check power and the three wires TX, RX, GND",
        "power-cycle the board and watch the boot log", "name the port with --port"}},
      {"UART_GARBLED",
       "the firmware's answers cannot be understood",
       {"the board speaks at a baud rate that its profile does not name",
        "a bad ground or a long cable", "the 1.8 V / 3.3 V levels differ"},
       {"use a shorter cable with its own ground",
        "name the board's baud rate in its profile: all that it names were tried"}},
      {"MEM_CORRUPTION_ERR",
       "memory gave back something else than was written",
       {"a memory cell, a data line or the memory controller is bad"},
       {"return the board", "run  assay mem  with more iterations to see whether the place moves"}},
      {"MEM_ROW_HAMMER",
       "reading some rows of memory changed others",
       {"cells so small that neighbours disturb them, and no target row refresh that works"},
       {"raise the refresh rate in the firmware's setup", "use memory with ECC",
        "return the board when it does so at the default refresh rate"}},
      {"MEM_SIZE",
       "the kernel sees less memory than the board has",
       {"a memory chip or module that is dead or was not soldered",
        "firmware that trained the memory wrong or keeps a part for itself"},
       {"look at the boot log's memory map", "flash the firmware that the profile names",
        "return the board"}},
      {"MEM_ECC_CORRECTED",
       "the memory controller corrected errors",
       {"a weak cell", "heat, or a supply voltage at its limit"},
       {"run  assay mem --time 8h  and see whether it grows", "return the board when it does"}},
      {"MEM_ECC_UNCORRECTED",
       "the memory controller saw errors that ECC cannot correct",
       {"a bad chip or module"},
       {"return the board"}},
      {"PCIE_LINK_DEGRADED",
       "a PCIe link runs slower or narrower than the board needs",
       {"the slot grants less power than the device peaks at", "dirty or worn contacts",
        "a riser or cable that cannot carry the speed"},
       {"move to a slot that grants the device's peak power",
        "reseat the card and clean its contacts", "power-cycle the board: the link trains again"}},
      {"PCIE_SLOT_POWER_LOW",
       "the slot grants less power than the device peaks at",
       {"the card is in a slot made for less", "the firmware set the slot's power limit too low"},
       {"move to a slot that grants the device's peak power",
        "expect the link to go down or the device to throttle under full load until then"}},
      {"PCIE_DEVICE_MISSING",
       "a PCIe device that the board must have is not there",
       {"the card is not seated or has no power", "the link did not train at all"},
       {"reseat the card, check its power",
        "look for the root port in  assay pcie  and its LnkSta"}},
      {"PCIE_CLAIM_EXCEEDS_LINK",
       "the profile claims more bandwidth than its own link can carry",
       {"the claim adds both directions or belongs to another link speed"},
       {"correct speed_gts, width or claimed_gbps in the board's profile"}},
      {"PCIE_AER_ERRORS",
       "the link reported errors during the run",
       {"a marginal link: contacts, cable, power", "interference"},
       {"reseat the card", "compare with another slot"}},
      {"THERMAL_OVER_LIMIT",
       "the temperature went over the limit",
       {"poor thermal contact", "a fan that does not turn or blocked air", "a hot room"},
       {"check the fan and the air way", "renew the thermal paste"}},
      {"THERMAL_THROTTLE",
       "the device slowed down to cool",
       {"poor thermal contact under the heat spreader: the core is hotter than the sensor reads"},
       {"renew the thermal paste; where a gap remains use a 0.3 mm copper shim",
        "confirm: the core stays at 82 C or below under load"}},
      {"THERMAL_SENSOR_IMPLAUSIBLE",
       "a temperature sensor gives a value that cannot be",
       {"the sensor is broken or not connected", "the driver's unit is wrong"},
       {"compare with a thermometer", "check the sensor's wiring"}},
      {"NPU_DMA_MAP_ERROR",
       "the driver could not map the model's memory",
       {"there is no physically contiguous run of pages of that size"},
       {"flush and defragment the memory pool before the load, never after",
        "confirm: largest_free_block in mem_pool_info is at least the mapping's size"}},
      {"NPU_POOL_FRAGMENTED",
       "the memory pool stays in pieces after it was flushed and defragmented",
       {"pages that cannot be moved are pinned inside the pool",
        "a firmware without large-page DMA mapping cannot join blocks beyond the largest order"},
       {"allocate the pool at boot, before anything else pins pages",
        "flash a firmware that brings large-page DMA mapping",
        "load the model in shards, or quantize it further"}},
      {"NPU_SLOW",
       "the workload ran slower than its limit",
       {"the device throttled", "the link trained low", "something else uses the device"},
       {"look at the frequency and temperature series of the step", "look at the link's LnkSta"}},
  };
  return catalog;
}

const CatalogEntry* find_catalog_entry(std::string_view code) {
  const auto catalog = finding_catalog();
  const auto found = std::find_if(catalog.begin(), catalog.end(),
                                  [&](const CatalogEntry& e) { return e.code == code; });
  return found == catalog.end() ? nullptr : &*found;
}

Finding complete(Finding finding) {
  if (const CatalogEntry* entry = find_catalog_entry(finding.code)) {
    if (finding.likely.empty()) finding.likely = entry->likely;
    if (finding.remedy.empty()) finding.remedy = entry->remedy;
  }
  return finding;
}

}  // namespace assay::reports
