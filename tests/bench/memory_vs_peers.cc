// How fast the memory test is: against this machine's own limit, measured bare in the same process,
// and against memtester and stressapptest. Figures are medians over rounds in which everything runs
// once, one behind the other, so that what else the machine does meets all alike.
// usage: memory_vs_peers [--size 2G] [--rounds 5] [--no-peers]
#include <fmt/core.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "probes/memory/line_kernel.h"
#include "probes/memory/memory_run.h"
#include "probes/memory/ram.h"
#include "tests/bench/bare_loops.h"

namespace assay::bench {
namespace {

using probes::Algorithm;

double seconds_of(const std::function<void()>& work) {
  const std::int64_t start = monotonic_ns();
  work();
  return static_cast<double>(monotonic_ns() - start) / 1e9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

class Machine {
 public:
  explicit Machine(std::span<std::byte> region) : region_(region) {}

  double fill() {
    return over([&](std::span<std::byte> part) { bare_fill(part, 0x5555555555555555); });
  }
  double read() {
    return over([&](std::span<std::byte> part) { sink_ = sink_ | bare_read(part); });
  }
  double fused() {
    return over(
        [&](std::span<std::byte> part) { sink_ = sink_ | bare_fused(part, 0x3333333333333333); });
  }

  // Seconds of a test's iterations; and bytes that its operations move.
  struct Ran {
    double seconds;
    double bytes;
  };
  Ran test(const std::string& name, std::uint64_t iterations, unsigned backgrounds = 1) {
    const std::vector<Algorithm> tests = {
        probes::make_algorithm(name, {.backgrounds = backgrounds}).value()};
    const CancelToken never;
    probes::MemoryRun run(region_, tests, {}, workers_, nullptr, never);
    run.on_error = [](probes::MemoryError e) {
      fmt::print(stderr, "a real error at offset {}\n", e.offset);
    };
    const double seconds = seconds_of([&] {
      for (std::uint64_t i = 1; i <= iterations; ++i) run.iterate(i);
      run.finish();
    });
    return {seconds, static_cast<double>(run.bytes_per_iteration() * iterations)};
  }
  WorkerPool& workers() { return workers_; }

 private:
  double over(const std::function<void(std::span<std::byte>)>& work) {
    return seconds_of([&] {
      workers_.run([&](unsigned worker) {
        const Share part = share_of(region_.size(), worker, workers_.size(), 4096);
        work(region_.subspan(part.first, part.last - part.first));
      });
    });
  }

  std::span<std::byte> region_;
  WorkerPool workers_;
  volatile std::uint64_t sink_ = 0;
};

// A program's output; none when it could not be run or failed.
std::optional<std::string> output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
  const int status = pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

// memtester's "Solid Bits": 64 times all memory is written and read, 0 and ~0 in turn. Its stuck
// address test always runs and is timed by itself.
double memtester_gbps(std::uint64_t bytes) {
  const std::string call = fmt::format(" memtester {}M 1", bytes >> 20);
  const auto timed = [&](const char* mask) {
    bool ran = false;
    const double seconds = seconds_of(
        [&] { ran = output_of(std::string("MEMTESTER_TEST_MASK=") + mask + call).has_value(); });
    return ran ? seconds : 0;
  };
  const double both = timed("0x100");
  const double without = timed("0x100000");
  return both > without && without > 0
             ? 64 * 2 * static_cast<double>(bytes >> 20 << 20) / (both - without) / 1e9
             : 0;
}

// Its "Memory Copy" counts what is read and what is written, in MiB.
double stressapptest_gbps(std::uint64_t bytes, unsigned threads) {
  const auto text =
      output_of(fmt::format("stressapptest -W -m {} -M {} -s 6", threads, bytes >> 20));
  std::smatch match;
  static const std::regex copy("Memory Copy: [0-9.]+M at ([0-9.]+)MB/s");
  if (!text || !std::regex_search(*text, match, copy)) return 0;
  return std::stod(match[1]) * 1048576 / 1e9;
}

struct Row {
  const char* what;
  const char* against;
  double bar;
  std::vector<double> ours;    // GB/s
  std::vector<double> theirs;  // GB/s
};

void add(Row& row, double ours, double theirs) {
  if (theirs <= 0) return;
  row.ours.push_back(ours);
  row.theirs.push_back(theirs);
}

int run(std::uint64_t size, int rounds, bool peers) {
  WorkerPool makers;
  auto region = probes::RamRegion::allocate(size, makers, [](std::size_t) { return true; });
  if (!region) {
    fmt::print(stderr, "{}\n", region.error().text());
    return 3;
  }
  Machine machine(region->bytes());
  const double bytes = static_cast<double>(size);
  Row rows[] = {
      {"fill + verify, one pattern", "bare streaming fill + bare wide read", 0.90, {}, {}},
      {"chain of patterns, fused", "bare fused loop", 0.90, {}, {}},
      {"march-c-, one background", "bare fused loop", 0.80, {}, {}},
      {"chain of random data, fused", "bare fused loop", 0, {}, {}},
      {"chain, fused", "fill + verify (two passes)", 0, {}, {}},
      {"solid bits, all cores", "memtester, one thread", 3, {}, {}},
      {"chain, fused", "stressapptest -W", 1, {}, {}},
  };
  for (int round = 0; round < rounds; ++round) {
    fmt::print(stderr, "round {} of {}\n", round + 1, rounds);
    const double bare_two = 2 * bytes / (machine.fill() + machine.read()) / 1e9;
    const auto two = machine.test("0xAAAAAAAA", 1);
    add(rows[0], two.bytes / two.seconds / 1e9, bare_two);
    const double fused = 2 * bytes / machine.fused() / 1e9;
    const auto chain = machine.test("0xAAAAAAAA~", 8);
    const double chain_rate = chain.bytes / chain.seconds / 1e9;
    const double fused_again = 2 * bytes / machine.fused() / 1e9;
    add(rows[1], chain_rate, (fused + fused_again) / 2);
    const auto march = machine.test("march-c-", 1);
    add(rows[2], march.bytes / march.seconds / 1e9, fused_again);
    const auto random = machine.test("random", 8);
    add(rows[3], random.bytes / random.seconds / 1e9, fused_again);
    add(rows[4], chain_rate, two.bytes / two.seconds / 1e9);
    if (!peers) continue;
    const auto solid = machine.test("0x00~", 8);
    add(rows[5], solid.bytes / solid.seconds / 1e9, memtester_gbps(size / 2));
    const auto again = machine.test("0xAAAAAAAA~", 8);
    add(rows[6], again.bytes / again.seconds / 1e9,
        stressapptest_gbps(size, machine.workers().size()));
  }
  fmt::print("{} on {} threads, {}, medians of {} rounds; GB/s are bytes read and written\n\n",
             format_gib(size), machine.workers().size(), probes::line_kernel_target(), rounds);
  fmt::print("| {:<27} | GB/s | {:<37} | GB/s | ratio | bar |\n", "what", "against");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
  for (const Row& row : rows) {
    if (row.theirs.empty()) {
      fmt::print("| {:<27} |      | {:<37} | not run |\n", row.what, row.against);
      continue;
    }
    std::vector<double> ratios;
    for (std::size_t i = 0; i < row.ours.size(); ++i) ratios.push_back(row.ours[i] / row.theirs[i]);
    fmt::print("| {:<27} | {:4.1f} | {:<37} | {:4.1f} | {:5.2f} | {} |\n", row.what,
               median(row.ours), row.against, median(row.theirs), median(ratios),
               row.bar > 0 ? fmt::format("{:.2f}", row.bar) : "");
  }
  return 0;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  CLI::App app("The memory test against the machine's limit and against its peers.");
  std::string size = "2G";
  int rounds = 5;
  bool no_peers = false;
  app.add_option("--size", size, "memory to run over")->capture_default_str();
  app.add_option("--rounds", rounds, "of everything")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_flag("--no-peers", no_peers, "without memtester and stressapptest");
  app.footer(
      "Example:\n  apt install memtester stressapptest\n  build/release/bin/memory_vs_peers "
      "--rounds 5");
  CLI11_PARSE(app, argc, argv);
  const auto bytes = assay::parse_size(size);
  if (!bytes || *bytes < (1 << 20)) {
    fmt::print(stderr, "--size: expected at least 1M, found {}\n", size);
    return 2;
  }
  return assay::bench::run(*bytes / 4096 * 4096, rounds, !no_peers);
}
