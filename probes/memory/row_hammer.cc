#include "probes/memory/row_hammer.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "base/units.h"
#include "probes/memory/cache_flush.h"
#include "probes/memory/dram_rows.h"
#include "probes/memory/frame_coverage.h"
#include "probes/memory/memory_findings.h"
#include "probes/memory/memory_options.h"
#include "probes/memory/memory_watch.h"
#include "probes/thermal/thermal_zones.h"

namespace assay::probes {
namespace {

constexpr std::size_t probe_step = 4096;             // lines looked at when rows are searched
constexpr std::int64_t refresh_ns = 64 * ns_per_ms;  // JEDEC DDR4/LPDDR4: every row once in 64 ms
constexpr std::size_t hammered_piece_lines = (std::size_t{8} << 20) / line_bytes;
constexpr std::uint64_t default_pairs = 16;
constexpr std::uint64_t default_windows = 8;
constexpr int turns_timed = 400;

class RowHammer {
 public:
  RowHammer(StepContext& context, RamRegion& region)
      : context_(context), region_(region), watch_(context.bench.ram, context.cancel) {}

  // Why it stopped before it was done; none when it was not stopped.
  std::optional<Error> stopped() {
    const bool stop = cancelled();
    if (watch_.is_short()) return watch_.error("before the last pair");
    if (stop) return Error{ErrorKind::cancelled, "stopped before the last pair", {}, {}};
    return std::nullopt;
  }

  // Physically contiguous runs of the region, the longest first: offset and length.
  Result<> find_runs() {
    const auto map = PageMap::open();
    if (!map) return std::unexpected(map.error());
    const auto frames = map->frames(region_.bytes());
    if (!frames) return std::unexpected(frames.error());
    const std::size_t page = PageMap::page_bytes();
    for (std::size_t i = 0; i < frames->size(); ++i) {
      const bool follows = i > 0 && (*frames)[i] != 0 && (*frames)[i] == (*frames)[i - 1] + 1;
      if (follows) {
        runs_.back().bytes += page;
      } else {
        runs_.push_back({i * page, page});
      }
    }
    std::sort(runs_.begin(), runs_.end(), [](const Run& one, const Run& other) {
      return std::pair(other.bytes, one.offset) < std::pair(one.bytes, other.offset);
    });
    return {};
  }

  Result<> calibrate() {
    const auto threshold = row_conflict_threshold(access(), lines_of(runs_.front()));
    if (!threshold) return std::unexpected(threshold.error());
    threshold_ = *threshold;
    return {};
  }

  // Pairs until there are enough, or no run is left.
  std::vector<RowPair> find_pairs(std::uint64_t wanted) {
    std::vector<RowPair> pairs;
    for (const Run& run : runs_) {
      const std::vector<std::size_t> lines = lines_of(run);
      if (lines.size() < 4) break;
      for (std::size_t start = 0; start < lines.size() / 2; start += lines.size() / 4) {
        if (pairs.size() >= wanted || cancelled()) return pairs;
        auto pair = find_row_pair(access(), threshold_, lines, lines[start]);
        if (pair) pairs.push_back(std::move(*pair));
        context_.recorder.progress(pairs.size(), wanted, "looking for rows");
      }
    }
    return pairs;
  }

  // What hammer() found before it hammered.
  const std::vector<Mismatch>& found_before() const { return found_before_; }

  // Bits that flipped in the region while the pair was read in turn; how often it was.
  struct Hammered {
    std::uint64_t flipped_words = 0;
    std::uint64_t wrong_before = 0;      // words that were wrong before anything was hammered
    double activations_per_refresh = 0;  // of each of the two rows
  };
  Hammered hammer(const RowPair& pair, std::uint64_t windows, std::vector<Mismatch>& found) {
    Hammered result;
    for (const std::uint64_t pattern : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      pass(true, pattern, found);
      // What is wrong without it is no doing of the rows.
      std::vector<Mismatch> before;
      result.wrong_before += pass(false, pattern, before);
      if (result.wrong_before > 0) {
        found_before_ = std::move(before);
        return result;
      }
      const std::int64_t start = monotonic_ns();
      std::uint64_t turns = 0;
      std::int64_t now = start;
      while (now - start < static_cast<std::int64_t>(windows) * refresh_ns && !cancelled()) {
        alternate(pair.above, pair.below, 1000);
        turns += 1000;
        now = monotonic_ns();
      }
      result.activations_per_refresh =
          std::max(result.activations_per_refresh,
                   static_cast<double>(turns) * static_cast<double>(refresh_ns) /
                       static_cast<double>(std::max<std::int64_t>(now - start, 1)));
      result.flipped_words += pass(false, pattern, found);
    }
    return result;
  }

 private:
  bool cancelled() {
    watch_.look();
    return watch_.stop().cancelled();
  }

  struct Run {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };

  AlternatingAccess access() {
    return [this](std::size_t a, std::size_t b) {
      if (cancelled()) return 0.0;  // what comes of it is not used
      const std::int64_t start = monotonic_ns();
      if (const double simulated = alternate(a, b, turns_timed); simulated > 0) return simulated;
      return static_cast<double>(monotonic_ns() - start) / turns_timed;
    };
  }

  // Nanoseconds of a turn when they are simulated, else 0.
  double alternate(std::size_t a, std::size_t b, int turns) {
    std::byte* const base = region_.bytes().data();
    if (LineHook* const hook = context_.bench.ram.hook()) {
      const double ns = hook->read_in_turn(base, a / line_bytes, b / line_bytes,
                                           static_cast<std::uint64_t>(turns));
      if (ns > 0) return ns;
    }
    read_in_turn(base + a, base + b, turns);
    return 0;
  }

  static std::vector<std::size_t> lines_of(const Run& run) {
    std::vector<std::size_t> lines;
    // So much holds rows enough.
    const std::size_t end = std::min<std::size_t>(run.bytes, std::size_t{4} << 20);
    for (std::size_t at = 0; at < end; at += probe_step) lines.push_back(run.offset + at);
    return lines;
  }

  // Writes or verifies the whole region: a victim may lie where the mapping of rows is not as
  // found.
  std::uint64_t pass(bool write, std::uint64_t pattern, std::vector<Mismatch>& found) {
    const std::span<std::byte> all = region_.bytes();
    const LineData data({.value = pattern}, reinterpret_cast<std::uintptr_t>(all.data()));
    const LineOperation operation[] = {{write, Select::all, 0, &data}};
    std::vector<Mismatches> by_worker(context_.bench.workers.size());
    LineHook* const hook = context_.bench.ram.hook();
    std::vector<std::size_t> hooked;
    if (hook != nullptr) {
      const auto lines = hook->lines(all.size() / line_bytes);
      hooked.assign(lines.begin(), lines.end());
    }
    context_.bench.workers.run([&](unsigned worker) {
      by_worker[worker].most = 64;
      const Share part = share_of(all.size() / line_bytes, worker, context_.bench.workers.size());
      for (std::size_t at = part.first; at < part.last && !cancelled();
           at += hammered_piece_lines) {
        run_lines(all.data(), at, std::min(at + hammered_piece_lines, part.last),
                  {Order::any, Flush::none, operation}, hooked, hook, by_worker[worker]);
      }
    });
    std::uint64_t wrong = 0;
    for (const Mismatches& one : by_worker) {
      wrong += one.count;
      found.insert(found.end(), one.list.begin(), one.list.end());
    }
    return wrong;
  }

  StepContext& context_;
  RamRegion& region_;
  MemoryWatch watch_;
  std::vector<Run> runs_;
  double threshold_ = 0;
  std::vector<Mismatch> found_before_;
};

// All that is known of each, in the journal; of the first in the finding.
std::vector<std::string> record(StepContext& context, const RamRegion& region,
                                const std::vector<Mismatch>& found) {
  const auto map = PageMap::open();
  std::vector<std::string> evidence;
  for (std::size_t i = 0; i < std::min(found.size(), most_recorded_errors); ++i) {
    const Mismatch& m = found[i];
    const std::byte* const at = region.bytes().data() + m.offset;
    MemoryError error{.offset = m.offset,
                      .address = reinterpret_cast<std::uintptr_t>(at),
                      .expected = m.expected,
                      .actual = m.actual,
                      .again = m.again,
                      .test = "row hammer",
                      .element = "w, rows read in turn, r",
                      .iteration = 1,
                      .processor = m.processor,
                      .wall_ns = m.wall_ns};
    if (map) error.physical = map->physical_address(at);
    error.temperature_mc = board_temperature(context.bench.machine, context.bench.board);
    record_error(context.recorder, error);
    if (evidence.size() < most_lines_of_evidence) evidence.push_back(evidence_of(error));
  }
  return evidence;
}

void report(StepContext& context, const RamRegion& region, const std::vector<RowPair>& pairs,
            std::uint64_t flips, double activations, const std::vector<Mismatch>& found) {
  reports::StepRecorder& recorder = context.recorder;
  recorder.measure("flips", static_cast<std::int64_t>(flips), "1");
  recorder.measure("pairs", static_cast<std::int64_t>(pairs.size()), "1");
  recorder.measure("activations_per_refresh", activations, "1");
  recorder.headline(fmt::format("{} pairs, {:.0f}k/refresh", pairs.size(), activations / 1000));
  if (flips == 0) return;
  recorder.finding({.code = "MEM_ROW_HAMMER",
                    .message = fmt::format(
                        "{} words changed while neighbouring rows were read {:.0f} times in a "
                        "refresh interval.",
                        flips, activations),
                    .where = "RAM",
                    .evidence = record(context, region, found)});
}

Result<> search_and_hammer(StepContext& context) {
  const std::uint64_t wanted = context.parameters.number("pairs", default_pairs);
  const std::uint64_t windows = context.parameters.number("refreshes", default_windows);
  const auto size = memory_size(context.parameters, context.bench.ram);
  if (!size) return std::unexpected(size.error());
  auto region = RamRegion::allocate(
      size->bytes, context.bench.workers, [&](std::size_t) { return !context.cancelled(); },
      context.bench.ram);
  if (!region) return std::unexpected(region.error());
  RowHammer hammer(context, *region);
  auto ready = hammer.find_runs();
  if (ready) ready = hammer.calibrate();
  if (auto stopped = hammer.stopped()) return std::unexpected(*stopped);
  if (!ready) {
    if (ready.error().kind != ErrorKind::unavailable) return ready;
    context.recorder.skip(ready.error().text());
    return {};
  }
  const std::vector<RowPair> pairs = hammer.find_pairs(wanted);
  if (auto stopped = hammer.stopped(); pairs.empty() && stopped) return std::unexpected(*stopped);
  if (pairs.empty()) {
    context.recorder.skip(
        "rows cannot be found: no physically contiguous run holds three rows of a bank");
    return {};
  }
  std::uint64_t flips = 0;
  double activations = 0;
  std::vector<Mismatch> found;
  for (std::size_t i = 0; i < pairs.size() && !hammer.stopped(); ++i) {
    context.recorder.progress(i, pairs.size(),
                              fmt::format("pair {} of {}  flips {}", i + 1, pairs.size(), flips));
    const auto hammered = hammer.hammer(pairs[i], windows, found);
    if (hammered.wrong_before > 0) {
      context.recorder.finding(
          {.code = "MEM_CORRUPTION_ERR",
           .message = fmt::format("{} words read back wrong before any row was hammered: assay mem "
                                  "tells more.",
                                  hammered.wrong_before),
           .where = "RAM",
           .evidence = record(context, *region, hammer.found_before())});
      break;
    }
    flips += hammered.flipped_words;
    activations = std::max(activations, hammered.activations_per_refresh);
  }
  report(context, *region, pairs, flips, activations, found);
  if (auto stopped = hammer.stopped()) return std::unexpected(*stopped);
  return {};
}

// ECC that corrects a flip hides it from the reads: it counts as one.
Result<> run_row_hammer(StepContext& context) {
  const auto before = read_edac(context.bench.machine);
  const auto done = search_and_hammer(context);
  if (!context.recorder.skipped()) {
    report_edac(context.recorder, before, read_edac(context.bench.machine));
  }
  return done;
}

Result<> preflight(const Bench& bench, const Parameters& parameters) {
  if (auto size = memory_size(parameters, bench.ram); !size) return std::unexpected(size.error());
  return {};
}

}  // namespace

Probe row_hammer_probe() {
  return {
      .name = "memory.row_hammer",
      .summary = "read neighbouring DRAM rows in turn and look for bits that flip between them",
      .parameters = {{"size", ParameterType::size, "memory in which rows are looked for", true},
                     {"pairs", ParameterType::count, "pairs of rows [16]"},
                     {"refreshes", ParameterType::count, "refresh intervals of 64 ms a pair [8]"}},
      .measurements = {{"flips", "1", "words that changed", true},
                       {"pairs", "1", "pairs of rows that were read in turn"},
                       {"activations_per_refresh", "1", "of each row, in 64 ms"},
                       {"ecc_corrected", "1", "errors that ECC corrected meanwhile"},
                       {"ecc_uncorrected", "1", "errors that ECC could not correct"}},
      .check = check_sizes,
      .preflight = preflight,
      .run = run_row_hammer,
      .monitor = nullptr,
  };
}

}  // namespace assay::probes
