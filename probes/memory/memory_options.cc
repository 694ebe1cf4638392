#include "probes/memory/memory_options.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "base/clock.h"
#include "base/units.h"
#include "probes/memory/frame_coverage.h"

namespace assay::probes {
namespace {

constexpr std::uint64_t smallest_bytes = 4096;
constexpr std::int64_t default_hold_ns = 60 * ns_per_s;

constexpr std::array flushes = {Flush::automatic, Flush::none, Flush::stream, Flush::batch,
                                Flush::line};

}  // namespace

std::vector<ParameterSpec> memory_parameters() {
  std::string names;
  for (const std::string& name : algorithm_names()) names += ", " + name;
  return {
      {"tests", ParameterType::text_list,
       "0xAAAAAAAA (8 to 64 bits; with ~ behind it also its complement)" + names, true},
      {"size", ParameterType::size, "how much: 4G, available, or at most a share of all: 85%",
       true},
      {"minimum", ParameterType::size, "less than this is no test"},
      {"iterations", ParameterType::count, "times that all tests run; 1, or as --time allows"},
      {"time", ParameterType::duration, "run iterations for so long: 8h"},
      {"flush", ParameterType::text,
       "auto, none, stream, batch, line: how much is done so that DRAM sees each operation"},
      {"backgrounds", ParameterType::count, "data backgrounds of the March tests, 1 to 10 [10]"},
      {"hold", ParameterType::duration, "time that bit-fade leaves the data alone [60s]"},
      {"seed", ParameterType::count, "of random data [1]"},
      {"fresh_frames", ParameterType::flag, "each iteration takes other pages, where there are"},
      {"offline_bad_pages", ParameterType::flag, "ask the kernel to retire pages with errors"}};
}

Result<> check_sizes(const Parameters& parameters) {
  for (const char* name : {"size", "minimum"}) {
    if (!parameters.has(name) || parameters.is_available_size(name) ||
        parameters.percent(name) != 0) {
      if (std::string(name) == "minimum" && parameters.has(name)) {
        return fail(ErrorKind::usage, "expected a size such as \"2GiB\"", name);
      }
      continue;
    }
    const std::uint64_t bytes = parameters.number(name, 0);
    if (bytes < smallest_bytes) {
      return fail(ErrorKind::usage, fmt::format("{} bytes are no test", bytes), name,
                  "expected at least 4KiB");
    }
  }
  const std::uint64_t size = parameters.number("size", UINT64_MAX);
  if (size < parameters.number("minimum", 0)) {
    return fail(ErrorKind::usage, "more than the size that is tested", "minimum");
  }
  return {};
}

Result<MemoryOptions> read_memory_options(const Parameters& parameters) {
  if (const auto sizes = check_sizes(parameters); !sizes) return std::unexpected(sizes.error());
  MemoryOptions options;
  AlgorithmOptions algorithm;
  algorithm.seed = parameters.number("seed", algorithm.seed);
  const std::uint64_t backgrounds = parameters.number("backgrounds", algorithm.backgrounds);
  if (backgrounds > most_backgrounds) {
    return fail(ErrorKind::usage, fmt::format("expected 1 to {}", most_backgrounds), "backgrounds");
  }
  algorithm.backgrounds = static_cast<unsigned>(backgrounds);
  for (const std::string& name : parameters.texts("tests")) {
    auto test = make_algorithm(name, algorithm);
    if (!test) {
      test.error().where = "tests";
      return std::unexpected(test.error());
    }
    options.tests.push_back(std::move(*test));
  }
  const std::string flush = parameters.text("flush", to_text(Flush::automatic));
  const auto known =
      std::find_if(flushes.begin(), flushes.end(), [&](Flush f) { return to_text(f) == flush; });
  if (known == flushes.end()) {
    return fail(ErrorKind::usage, "no flush policy \"" + flush.substr(0, 40) + "\"", "flush",
                "there are: auto, none, stream, batch, line");
  }
  options.run.flush = *known;
  options.run.hold_ns = static_cast<std::int64_t>(
      parameters.number("hold", static_cast<std::uint64_t>(default_hold_ns)));
  options.duration_ns = static_cast<std::int64_t>(parameters.number("time", 0));
  options.iterations = parameters.number("iterations", options.duration_ns != 0 ? UINT64_MAX : 1);
  options.minimum_bytes = parameters.number("minimum", smallest_bytes);
  options.fresh_frames = parameters.flag("fresh_frames");
  options.offline_bad_pages = parameters.flag("offline_bad_pages");
  return options;
}

Result<MemorySize> memory_size(const Parameters& parameters, const Ram& ram) {
  const auto available = ram.available();
  if (!available) return std::unexpected(available.error());
  std::uint64_t wanted = parameters.number("size", *available);
  if (const unsigned percent = parameters.percent("size"); percent != 0) {
    const auto total = ram.total();
    if (!total) return std::unexpected(total.error());
    wanted = *total / 100 * percent;
  }
  const std::uint64_t asked = wanted;
  if (parameters.percent("size") != 0 || parameters.has("minimum")) {
    wanted = std::min(wanted, *available);
  }
  if (wanted > *available) {
    return fail(ErrorKind::usage,
                fmt::format("{} asked for; this machine can spare {} now", format_gib(wanted),
                            format_gib(*available)),
                "size", "ask for less, or for \"available\"");
  }
  return MemorySize{asked, wanted / PageMap::page_bytes() * PageMap::page_bytes()};
}

}  // namespace assay::probes
