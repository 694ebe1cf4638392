#include "probes/log/log_patterns.h"

#include <array>

namespace assay::probes {
namespace {

using enum reports::FindingKind;

// A PCI address as the kernel writes it: domain, bus, device, function.
#define ASSAY_PCI_ADDRESS "[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]"

// 4.19 says "Uncorrected (Fatal)", 6.x "Uncorrectable (Fatal)"; "AER: " since 5.0. Since 6.16 an
// error whose details are gone has one line only (drivers/pci/pcie/aer.c).
#define ASSAY_AER(severity)                                                         \
  "(?P<source>" ASSAY_PCI_ADDRESS "): (?:AER: )?PCIe Bus Error: severity=" severity \
  ", type=(?:(?P<layer>[^,]+) Layer|[^,]+),"
#define ASSAY_AER_BARE(severity) \
  "AER: (?:Multiple )?" severity " error message received from (?P<source>" ASSAY_PCI_ADDRESS ")"

#define ASSAY_NVME "nvme (?P<source>nvme[0-9]+): "
// "input" is none.
#define ASSAY_NPU_DEVICE "[^\\s:]*(?i:\\bnpu|npu\\b)[^\\s:]*"

constexpr std::string_view aer_literal = "PCIe Bus Error: severity=";
constexpr std::string_view aer_bare_literal = "(no details found";
constexpr std::string_view aer_where = "{source}[, {layer} layer]";

#define ASSAY_MACHINE_CHECK(status)                                                       \
  "CPU (?P<cpu>[0-9]+): Machine Check(?: Exception)?: +[0-9a-f]+ Bank (?P<bank>[0-9]+): " \
  "(?P<status>" status ")"

constexpr std::string_view corrected_codes =
    "MEM_ECC_CORRECTED CPU_ERROR_CORRECTED PCIE_AER_CORRECTED";
constexpr std::string_view uncorrected_codes =
    "MEM_ECC_UNCORRECTED CPU_ERROR_UNCORRECTED PCIE_AER_NONFATAL PCIE_AER_FATAL";
constexpr std::string_view all_error_codes =
    "MEM_ECC_CORRECTED CPU_ERROR_CORRECTED MEM_ECC_UNCORRECTED CPU_ERROR_UNCORRECTED";

constexpr LogPattern patterns[] = {
    // The messages of NPU drivers and runtimes (the board's own table of messages).
    {"NPU_DMA_MAP_ERROR", fault, "npu_dma_map_error",
     "npu_dma_map_error: cannot map (?P<size>[0-9]+) bytes", "NPU",
     "The NPU's driver found no room to map {size|bytes} in one piece", LogTopic::npu_buffer},
    {"NPU_ROUTER_CACHE_FULL", observation, "expert_router_cache_miss",
     "expert_router_cache_miss: cache full", "NPU", "The NPU's expert router cache is full"},
    {"THERMAL_THROTTLE", fault, "THERMAL_THROTTLE",
     "THERMAL_THROTTLE triggered at (?P<celsius>[0-9]+) ?C", "NPU",
     "The NPU began to throttle at {celsius} C"},
    {"NPU_CONTEXT_OVERFLOW", fault, "context length overflow", "context length overflow", "NPU",
     "A sequence was longer than the firmware can check"},
    {"NPU_MODEL_FILE", observation, "mmap failed", "failed to load model, mmap failed", "NPU",
     "A model's file could not be mapped"},
    {"NPU_MMU_PAGE_FAULT", fault,
     "EXCEPTION_CODE: ", "EXCEPTION_CODE: (?P<code>0x1[aA]|0x[0-9a-fA-F]+ \\(MMU_PAGE_FAULT)",
     "NPU", "The NPU's walk of its page table failed (exception 0x1A, MMU_PAGE_FAULT)"},
    {"NPU_EXCEPTION", fault,
     "EXCEPTION_CODE: ", "EXCEPTION_CODE: (?P<code>0x[0-9a-fA-F]+)(?: \\((?P<name>\\w+)\\))?",
     "exception {code}", "The NPU stopped with exception {code}[, {name}]"},
    {"NPU_PAGE_ALIGNMENT_VIOLATION", observation, "PAGE_ALIGNMENT_VIOLATION",
     "PAGE_ALIGNMENT_VIOLATION", "NPU", "A model's shards lie in more than one region of the NPU"},
    {"MEM_CORRUPTION_ERR", fault, "MEM_CORRUPTION_ERR", "MEM_CORRUPTION_ERR", "NPU memory",
     "The NPU's driver found corrupted memory"},

    // Buffers of NPUs: the kernel's side, then the runtime's (RKNN).
    {"NPU_BUFFER_REFUSED", observation, "swiotlb: coherent allocation failed",
     "(?P<source>" ASSAY_NPU_DEVICE "): swiotlb: coherent allocation "
     "failed.*size=(?P<size>[0-9]+)",
     "NPU", "[{source}: ]the NPU's driver could not get a buffer of {size|bytes}",
     LogTopic::npu_buffer},
    {"NPU_BUFFER_REFUSED", observation, "failed to malloc npu memory",
     "failed to malloc npu memory!?, size: (?P<size>[0-9]+)", "NPU",
     "The NPU's driver could not get a buffer of {size|bytes}", LogTopic::npu_buffer},
    {"NPU_BUFFER_REFUSED", observation, "failed to allocate handle, ret: ",
     "failed to allocate handle, ret: -?[0-9]+(?:, errno: (?P<errno>[0-9]+))?", "NPU",
     "The NPU's driver could not get a buffer[ ({errno|errno})]", LogTopic::npu_buffer},
    {"NPU_BUFFER_REFUSED", observation, "alloc of size ",
     "(?P<source>" ASSAY_NPU_DEVICE "): dma[_ ]alloc of size (?P<size>[0-9]+) failed", "NPU",
     "[{source}: ]the NPU's driver could not get a buffer of {size|bytes}", LogTopic::npu_buffer},
    {"NPU_BUFFER_REFUSED", observation, "swiotlb buffer is full",
     "(?P<source>" ASSAY_NPU_DEVICE "): swiotlb buffer is full \\(sz: (?P<size>[0-9]+) "
     "bytes\\)",
     "NPU", "[{source}: ]the NPU's driver could not get a buffer of {size|bytes}",
     LogTopic::npu_buffer},

    // Memory: mm/cma.c, mm/page_alloc.c, kernel/dma/swiotlb.c, mm/oom_kill.c.
    {"CMA_ALLOC_FAILED", observation, "alloc failed, req-size: ",
     "cma_alloc: (?:(?P<source>[^:]+): )?alloc failed, req-size: (?P<pages>[0-9]+) pages, ret: "
     "(?P<errno>-?[0-9]+)",
     "[CMA area {source}]",
     "A driver could not get {pages|pages} of contiguous memory[ from the area {source}]: "
     "{errno|errno}",
     LogTopic::cma},
    {"PAGE_ALLOC_FAILED", observation, "page allocation failure: order:",
     "(?P<task>\\S.*): page allocation failure: order:(?P<order>[0-9]+), "
     "mode:(?P<mode>0x[0-9a-f]+(?:\\([^)]*\\))?)",
     "order {order}", "The kernel could not give {task} a block of {order|order}",
     LogTopic::page_allocation},
    {"DMA_ALLOC_FAILED", observation, "alloc of size ",
     "(?P<source>[^\\s:]+): dma[_ ]alloc of size (?P<size>[0-9]+) failed", "{source}",
     "The driver of {source} could not get a buffer of {size|bytes} for DMA", LogTopic::dma_buffer},
    {"SWIOTLB_FULL", observation, "swiotlb buffer is full",
     "(?:(?P<source>[^\\s:]+(?::[0-9a-f:.]+)?): )?swiotlb buffer is full(?: \\(sz: "
     "(?P<size>[0-9]+) bytes\\))?(?:, total (?P<total>[0-9]+) \\(slots\\), used "
     "(?P<used>[0-9]+))?",
     "{source}",
     "[{source}: ]the pool of bounce buffers (swiotlb) has no room[ for {size|bytes}]"
     "[; {used} of {total} slots of 2 KiB were in use]",
     LogTopic::bounce_buffer},
    {"SWIOTLB_FULL", observation, "Out of SW-IOMMU space",
     "Out of SW-IOMMU space for (?P<size>[0-9]+) bytes at device (?P<source>\\S+)", "{source}",
     "[{source}: ]the pool of bounce buffers (swiotlb) has no room for {size|bytes}",
     LogTopic::bounce_buffer},
    {"MEM_OOM_KILL", observation, "Killed process ",
     "(?:(?P<cgroup>Memory cgroup) out of memory[^:]*: )?Killed process (?P<pid>[0-9]+) "
     "\\((?P<task>.*)\\),? .*?total-vm:(?P<vm>[0-9]+)kB, anon-rss:(?P<anon>[0-9]+)kB",
     "{task}",
     "The kernel killed {task} (process {pid}) for want of memory[; the {cgroup} had reached its "
     "limit]: it held {anon|kib} of its own and {vm|kib} of addresses",
     LogTopic::out_of_memory},
    {"MEM_OOM_KILL", observation, "lowmemorykiller: Kill",
     "lowmemorykiller: Kill(?:ing)? '(?P<task>[^']*)' \\((?P<pid>[0-9]+)\\)", "{task}",
     "Android's low memory killer ended {task} (process {pid})", LogTopic::out_of_memory},

    // ECC and machine checks: drivers/edac, arch/x86/kernel/cpu/mce, drivers/edac/mce_amd.c.
    {"MEM_ECC_CORRECTED", fault, "EDAC MC",
     "EDAC (?P<controller>MC[0-9]+): (?P<n>[0-9]+) CE (?:.*? )?on (?P<label>\\S.*?) \\(",
     "{controller}, {label}", "The memory controller {controller} corrected errors on {label}"},
    {"MEM_ECC_UNCORRECTED", fault, "EDAC MC",
     "EDAC (?P<controller>MC[0-9]+): (?P<n>[0-9]+) UE (?:.*? )?on (?P<label>\\S.*?) \\(",
     "{controller}, {label}",
     "The memory controller {controller} saw errors on {label} that it cannot correct"},
    {"CPU_ERROR_CORRECTED", fault, "EDAC DEVICE",
     "EDAC (?P<device>DEVICE[0-9]+): CE: (?P<name>\\S+) instance: (?P<instance>\\S+) block: "
     "(?P<block>\\S+)",
     "{name} {instance} {block}", "{name} corrected errors in {instance} {block}"},
    {"CPU_ERROR_UNCORRECTED", fault, "EDAC DEVICE",
     "EDAC (?P<device>DEVICE[0-9]+): UE: (?P<name>\\S+) instance: (?P<instance>\\S+) block: "
     "(?P<block>\\S+)",
     "{name} {instance} {block}", "{name} saw errors in {instance} {block} that it cannot correct"},
    // MCi_STATUS (Intel SDM volume 3B, "Machine-Check Architecture"): bit 61 says uncorrected, and
    // of the low bits 000F 0000 1MMM CCCC are errors of a memory controller.
    {"MEM_ECC_UNCORRECTED", fault, ": Machine Check",
     ASSAY_MACHINE_CHECK("[2367abef][0-9a-f]{11}[01]0[89a-f][0-9a-f]"), "CPU {cpu}, bank {bank}",
     "The memory controller of CPU {cpu} (bank {bank}) saw errors that it cannot correct (status "
     "{status})",
     LogTopic::none, "MEM_ECC_UNCORRECTED", 2},
    {"MEM_ECC_CORRECTED", fault, ": Machine Check",
     ASSAY_MACHINE_CHECK("[014589cd][0-9a-f]{11}[01]0[89a-f][0-9a-f]"), "CPU {cpu}, bank {bank}",
     "The memory controller of CPU {cpu} (bank {bank}) corrected errors (status {status})",
     LogTopic::none, "MEM_ECC_CORRECTED", 2},
    {"CPU_ERROR_UNCORRECTED",
     fault,
     ": Machine Check",
     ASSAY_MACHINE_CHECK("[2367abef][0-9a-f]{15}"),
     "CPU {cpu}, bank {bank}",
     "CPU {cpu} reported a machine check in bank {bank} that was not corrected (status {status})",
     LogTopic::none,
     {},
     2},
    {"CPU_ERROR_CORRECTED",
     fault,
     ": Machine Check",
     ASSAY_MACHINE_CHECK("[0-9a-f]{16}"),
     "CPU {cpu}, bank {bank}",
     "CPU {cpu} corrected a hardware error and reported it from bank {bank} (status {status})",
     LogTopic::none,
     {},
     2},
    {"CPU_ERROR_UNCORRECTED", fault, "_STATUS[",
     "CPU:(?P<cpu>[0-9]+) \\([^)]*\\) MC(?P<bank>[0-9]+)_STATUS\\[[^\\]]*\\bU[CE]\\b",
     "CPU {cpu}, bank {bank}",
     "CPU {cpu} reported a machine check in bank {bank} that was not corrected"},
    {"CPU_ERROR_CORRECTED", fault, "_STATUS[",
     "CPU:(?P<cpu>[0-9]+) \\([^)]*\\) MC(?P<bank>[0-9]+)_STATUS\\[[^\\]]*\\bCE\\b",
     "CPU {cpu}, bank {bank}",
     "CPU {cpu} corrected a hardware error and reported it from bank {bank}"},
    {"CPU_ERROR_UNCORRECTED", fault, "Fatal machine check", "Fatal machine check", "",
     "The kernel stopped at a machine check", LogTopic::none, uncorrected_codes},
    {"CPU_ERROR_CORRECTED", fault, "Machine check events logged", "Machine check events logged", "",
     "The processor reported hardware errors, which another program keeps (mcelog, rasdaemon)",
     LogTopic::none, all_error_codes},
    // Firmware first (APEI): the lines behind say in which part (drivers/firmware/efi/cper.c).
    {"HARDWARE_ERROR_CORRECTED", fault,
     "]: event severity: ", "\\[Hardware Error\\]: event severity: corrected", "firmware",
     "The firmware reported a hardware error that was corrected", LogTopic::none, corrected_codes,
     6},
    {"HARDWARE_ERROR_UNCORRECTED", fault,
     "]: event severity: ", "\\[Hardware Error\\]: event severity: (?P<severity>recoverable|fatal)",
     "firmware", "The firmware reported a hardware error that was not corrected ({severity})",
     LogTopic::none, uncorrected_codes, 6},
    {"MEM_PAGE_OFFLINED", observation, "oft-offlining pfn",
     "oft-offlining pfn: ?(?P<pfn>0x[0-9a-f]+)", "corrected errors",
     "The kernel moved data away from pages with too many corrected errors"},
    {"MEM_PAGE_OFFLINED", observation, "oft offlin",
     "[Ss]oft offlin(?:ing|e)(?: pfn)?:? (?P<pfn>0x[0-9a-f]+)", "corrected errors",
     "The kernel moved data away from pages with too many corrected errors"},
    {"MEM_PAGE_OFFLINED", fault, "Memory failure: 0x",
     "Memory failure: (?P<pfn>0x[0-9a-f]+): recovery action for (?P<page>.+): (?P<outcome>\\w+)",
     "uncorrected errors",
     "The kernel took pages with errors that cannot be corrected out of use (first a {page}: "
     "{outcome})"},

    // PCI Express.
    {"PCIE_AER_FATAL",
     fault,
     aer_literal,
     ASSAY_AER("Uncorrect(?:ed|able) \\(Fatal\\)"),
     aer_where,
     "{source} reported fatal errors[ of its {layer} layer]",
     LogTopic::none,
     {},
     3},
    {"PCIE_AER_NONFATAL",
     fault,
     aer_literal,
     ASSAY_AER("Uncorrect(?:ed|able) \\(Non-Fatal\\)"),
     aer_where,
     "{source} reported non-fatal errors[ of its {layer} layer]",
     LogTopic::none,
     {},
     3},
    {"PCIE_AER_CORRECTED",
     observation,
     aer_literal,
     ASSAY_AER("Correct(?:ed|able)"),
     aer_where,
     "{source} reported errors[ of its {layer} layer] that the link corrected",
     LogTopic::none,
     {},
     3},
    {"PCIE_AER_FATAL", fault, aer_bare_literal, ASSAY_AER_BARE("Uncorrect(?:ed|able) \\(Fatal\\)"),
     "{source}", "{source} reported fatal errors"},
    {"PCIE_AER_NONFATAL", fault, aer_bare_literal,
     ASSAY_AER_BARE("Uncorrect(?:ed|able) \\(Non-Fatal\\)"), "{source}",
     "{source} reported non-fatal errors"},
    {"PCIE_AER_CORRECTED", observation, aer_bare_literal, ASSAY_AER_BARE("Correct(?:ed|able)"),
     "{source}", "{source} reported errors that the link corrected"},

    // Heat and power: drivers/thermal, arch/x86 therm_throt.c, drivers/hwmon.
    {"THERMAL_SHUTDOWN", fault, "ritical temperature reached",
     "(?:(?P<source>thermal_zone[0-9]+): )?(?:(?P<zone>[^\\s:]+): )?[Cc]ritical temperature "
     "reached ?(?:\\((?P<celsius>[0-9]+) C\\))?, ?shutting down",
     "{source}",
     "[{source}][ ({zone})] reached its critical temperature[ at {celsius} C] and the system shut "
     "down"},
    {"THERMAL_TRIP", fault, "ritical temperature reached",
     "(?:(?P<source>thermal_zone[0-9]+): )?(?:(?P<zone>[^\\s:]+): )?[Cc]ritical temperature "
     "reached(?: ?\\((?P<celsius>[0-9]+) C\\))?",
     "{source}", "[{source}][ ({zone})] reached its critical temperature[ at {celsius} C]"},
    {"THERMAL_SHUTDOWN", fault, "HARDWARE PROTECTION ",
     "HARDWARE PROTECTION (?:shutdown|reboot) \\((?P<reason>[^)]*[Tt]emperature[^)]*)\\)", "",
     "The system shut down to protect its hardware: {reason}", LogTopic::none, "THERMAL_SHUTDOWN"},
    {"THERMAL_TRIP", fault, "trip point",
     "(?P<source>thermal_zone[0-9]+)\\b.*\\btrip point (?P<trip>[0-9]+).*\\b"
     "(?:crossed|reached|exceeded|violated)",
     "{source}", "{source} crossed its trip point {trip}"},
    {"THERMAL_THROTTLE", fault, "above threshold, cpu clock",
     "CPU(?P<cpu>[0-9]+): (?P<part>Core|Package) temperature (?:is )?above threshold, cpu clock",
     "CPU {part}", "The processor slowed down to cool (CPU {cpu}, {part} temperature)"},
    {"POWER_UNDERVOLTAGE", fault, "nder-voltage detected",
     "Under-voltage detected!(?: \\((?P<flags>0x[0-9a-f]+)\\))?", "supply voltage",
     "The board's supply voltage fell below its limit"},
    {"POWER_UNDERVOLTAGE", fault, "ndervoltage detected",
     "(?:(?P<source>hwmon[0-9]+): )?Undervoltage detected", "supply voltage",
     "The board's supply voltage fell below its limit"},

    // Drives: drivers/nvme/host/pci.c.
    {"NVME_LOST", fault, "Removing after probe failure", ASSAY_NVME "Removing after probe failure",
     "{source}", "The drive {source} did not come back"},
    {"NVME_LOST", fault, "Disabling device after reset failure",
     ASSAY_NVME "Disabling device after reset failure", "{source}",
     "The drive {source} did not come back"},
    {"NVME_LOST", fault, "Device not ready; aborting", ASSAY_NVME "Device not ready; aborting",
     "{source}", "The drive {source} did not come back"},
    {"NVME_TIMEOUT", fault, "timeout, ",
     ASSAY_NVME "I/O (?:tag )?[0-9]+ [^,]*timeout, (?P<then>aborting|(?:reset|disable) "
                "controller|completion polled|[a-z]+)",
     "{source}", "The drive {source} did not answer in time (first: {then})"},
    {"NVME_RESET", fault, "controller is down; will reset",
     ASSAY_NVME "controller is down; will reset(?:: CSTS=(?P<csts>0x[0-9a-f]+))?", "{source}",
     "The drive {source} was reset[; its status register read {csts}]"},
    {"NVME_RESET", fault, "frozen state error detected",
     ASSAY_NVME "frozen state error detected, reset controller", "{source}",
     "The drive {source} was reset: its link had a fatal error"},
    {"NVME_RESET", fault, "resetting controller", ASSAY_NVME "resetting controller", "{source}",
     "The drive {source} was reset"},

    // USB and serial: drivers/usb/core/hub.c, drivers/tty.
    {"USB_OVER_CURRENT", fault, "over-current c",
     "(?:usb|hub) (?P<source>[^\\s:]+(?::[0-9.]+)?): over-current (?:condition|change)(?: on port "
     "(?P<port>[0-9]+))?",
     "{source}[ port {port}]",
     "USB port {source}[ port {port}] delivered more current than it may"},
    {"USB_OVER_CURRENT", fault, "vercurrent change detected",
     "(?P<source>[^\\s:]+): Overcurrent change detected", "{source}",
     "A port of the USB controller {source} delivered more current than it may"},
    {"USB_DEVICE_ERROR", fault, "device descriptor read/",
     "usb (?P<source>[^\\s:]+): device descriptor read/\\S+ error (?P<errno>-?[0-9]+)",
     "usb {source}", "The device at usb {source} did not describe itself: {errno|errno}"},
    {"USB_DEVICE_ERROR", fault, "device not accepting address",
     "usb (?P<source>[^\\s:]+): device not accepting address [0-9]+, error (?P<errno>-?[0-9]+)",
     "usb {source}", "The device at usb {source} did not take its address: {errno|errno}"},
    {"USB_DEVICE_ERROR", fault, "unable to enumerate USB device",
     "usb usb(?P<bus>[0-9]+)-port(?P<port>[0-9]+): unable to enumerate", "usb {bus}-{port}",
     "The device at usb {bus}-{port} could not be set up"},
    {"USB_DEVICE_ERROR", fault, "unable to enumerate USB device",
     "usb (?P<hub>[0-9]+-[0-9.]+)-port(?P<port>[0-9]+): unable to enumerate", "usb {hub}.{port}",
     "The device at usb {hub}.{port} could not be set up"},
    {"UART_OVERRUN", observation, "input overrun",
     "(?P<source>tty[A-Za-z0-9]+): (?P<n>[0-9]+) input overrun", "{source}",
     "{source} lost what it received: nobody read it in time"},

    // kernel/hung_task.c.
    {"KERNEL_HUNG_TASK", observation, "INFO: task ",
     "INFO: task (?P<task>\\S.*):(?P<pid>[0-9]+) blocked (?:in I/O wait )?for more than "
     "(?P<seconds>[0-9]+) seconds",
     "{task}", "{task} (process {pid}) waited for more than {seconds} seconds without a break"},
};

constexpr LogFactPattern fact_patterns[] = {
    {LogFact::kernel, "Linux version ", "Linux version (\\S+)"},
    // A table of 2^order pages: "(order: 11, 8388608 bytes" (mm/mm_init.c,
    // alloc_large_system_hash).
    {LogFact::page_order,
     "hash table entries: ", "hash table entries: [0-9]+ \\(order: (-?[0-9]+), ([0-9]+) bytes"},
    {LogFact::page_kib, "16k pages", "\\b(16)k pages"},
    {LogFact::page_kib, "64k pages", "\\b(64)k pages"},
    {LogFact::page_kib, "16K pages", "\\b(16)K pages"},
    {LogFact::page_kib, "64K pages", "\\b(64)K pages"},
    {LogFact::cma_area, "created CMA memory pool",
     "created CMA memory pool at [^,]+, size ([0-9]+) ([KMG])iB"},
    {LogFact::cma_area, "cma: Reserved ", "cma: Reserved ([0-9]+) ([M])iB"},
    {LogFact::memory, "K available (", "Memory: ([0-9]+)K/([0-9]+)K available \\("},
    {LogFact::bounce_pool, "software IO TLB",
     "software IO TLB: mapped \\[mem [^\\]]*\\] \\(([0-9]+)MB\\)"},
    {LogFact::iommu_mode, "iommu mode", "(" ASSAY_NPU_DEVICE "): .*using (non-iommu|iommu) mode"},
    {LogFact::cma_free, "number of available pages: ",
     "number of available pages: (\\S*?)=> ([0-9]+) free of ([0-9]+) total pages"},
    {LogFact::suppressed, "callbacks suppressed", "([0-9]+) callbacks suppressed"},
    {LogFact::suppressed, "messages dropped", "([0-9]+) (?:printk )?messages dropped"},
    {LogFact::reclaim_context,
     " invoked oom-killer: ", " invoked oom-killer: gfp_mask=(0x[0-9a-f]+(?:\\([^)]*\\))?)"},
};

#undef ASSAY_PCI_ADDRESS
#undef ASSAY_AER
#undef ASSAY_AER_BARE
#undef ASSAY_MACHINE_CHECK
#undef ASSAY_NVME
#undef ASSAY_NPU_DEVICE

}  // namespace

std::span<const LogPattern> log_patterns() {
  return patterns;
}

std::span<const LogFactPattern> log_fact_patterns() {
  return fact_patterns;
}

}  // namespace assay::probes
