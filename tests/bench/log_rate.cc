// How fast a kernel log is read for findings, beside a bare scan for its line ends.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "probes/log/line_reader.h"
#include "probes/log/log_diagnosis.h"

namespace assay {
namespace {

// Lines as a board writes them day by day; a number makes each another one.
constexpr const char* ordinary[] = {
    "usb 1-1: new high-speed USB device number {} using xhci_hcd",
    "eth0: Link is Up - 1Gbps/Full - flow control rx/tx",
    "audit: type=1400 audit(1764762781.{}:38): apparmor=\"ALLOWED\" operation=\"open\" "
    "profile=\"/usr/sbin/ntpd\" name=\"/etc/ssl/openssl.cnf\" comm=\"ntpd\"",
    "IPv6: ADDRCONF(NETDEV_CHANGE): veth{}: link becomes ready",
    "docker0: port {}(veth3f1c2a9) entered blocking state",
    "EXT4-fs (nvme0n1p2): mounted filesystem {} r/w with ordered data mode. Quota mode: none.",
    "systemd[1]: Started Session {} of User operator.",
    "npu: job {} done, 4 units, 812 us",
    "thermal thermal_zone0: temperature 61250, trend stable, step {}",
    "pcieport 0000:00:1c.0: PME: Signaling with IRQ {}",
    "perf: interrupt took too long ({} > 2500), lowering kernel.perf_event_max_sample_rate",
    "[drm] Initialized panel 1.0.0 20240101 for fde40000.gpu on minor {}"};
constexpr const char* findings[] = {
    "pcieport 0000:00:1c.5: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
    "(Receiver "
    "ID)",
    "EDAC MC0: 1 CE memory read error on DIMM_A{} (channel:0 slot:0 page:0x1 offset:0x0 grain:32)",
    "cma: cma_alloc: linux,cma: alloc failed, req-size: {} pages, ret: -12",
    "nvme nvme0: I/O {} QID 2 timeout, aborting"};

std::string make_log(std::size_t bytes, unsigned one_in) {
  std::mt19937 random(1);
  std::string log;
  log.reserve(bytes + 400);
  for (std::uint64_t line = 0; log.size() < bytes; ++line) {
    const bool finding = one_in != 0 && random() % one_in == 0;
    const char* const text = finding ? findings[random() % std::size(findings)]
                                     : ordinary[random() % std::size(ordinary)];
    log += fmt::format("[{:5}.{:06}] ", line / 100, line * 10007 % 1'000'000);
    log += fmt::format(fmt::runtime(text), random() % 100);
    log += '\n';
  }
  return log;
}

std::uint64_t scan_bare(const std::string& log) {
  std::uint64_t lines = 0;
  const char* at = log.data();
  const char* const end = at + log.size();
  while (at < end) {
    const void* const found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
    if (found == nullptr) break;
    ++lines;
    at = static_cast<const char*>(found) + 1;
  }
  return lines;
}

struct Diagnosed {
  std::uint64_t lines = 0;
  std::size_t findings = 0;
};

Diagnosed diagnose(const std::string& log) {
  constexpr std::size_t block = std::size_t{1} << 20;
  probes::LineReader reader;
  probes::LogDiagnosis diagnosis;
  const auto add = [&](std::string_view line) { diagnosis.add(line); };
  for (std::size_t at = 0; at < log.size(); at += block) {
    reader.feed(std::string_view(log).substr(at, block), add);
  }
  reader.finish(add);
  return {reader.lines(), diagnosis.result().findings.size()};
}

void run(std::size_t bytes, int rounds) {
  fmt::print("| findings | MB/s | bare scan MB/s | share of the bare scan |\n");
  fmt::print("| --- | --- | --- | --- |\n");
  for (const unsigned one_in : {0U, 10'000U, 100U, 1U}) {
    const std::string log = make_log(bytes, one_in);
    const auto megabytes = static_cast<double>(log.size()) / 1e6;
    std::vector<double> rates;
    std::vector<double> bare;
    Diagnosed done;
    for (int round = 0; round < rounds; ++round) {
      const std::int64_t begin = monotonic_ns();
      const std::uint64_t lines = scan_bare(log);
      const std::int64_t middle = monotonic_ns();
      done = diagnose(log);
      const std::int64_t end = monotonic_ns();
      if (lines != done.lines) fmt::print(stderr, "log_rate: {} of {} lines\n", done.lines, lines);
      bare.push_back(megabytes * 1e9 / static_cast<double>(middle - begin));
      rates.push_back(megabytes * 1e9 / static_cast<double>(end - middle));
    }
    std::sort(rates.begin(), rates.end());
    std::sort(bare.begin(), bare.end());
    const double rate = rates[rates.size() / 2];
    const double scan = bare[bare.size() / 2];
    const std::string share = one_in == 0   ? "none"
                              : one_in == 1 ? "every line"
                                            : fmt::format("one line in {}", one_in);
    fmt::print("| {} | {:.0f} | {:.0f} | {:.3f} |\n", share, rate, scan, rate / scan);
  }
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  CLI::App app("How fast a kernel log is read, beside a bare scan for its line ends.");
  std::size_t megabytes = 256;
  int rounds = 3;
  app.add_option("--megabytes", megabytes, "of each log")->capture_default_str();
  app.add_option("--rounds", rounds, "the median counts")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  assay::run(megabytes * 1'000'000, rounds);
  return 0;
}
