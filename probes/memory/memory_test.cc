#include "probes/memory/memory_test.h"

#include <fmt/core.h>

#include <algorithm>
#include <list>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/units.h"
#include "probes/memory/memory_findings.h"
#include "probes/memory/memory_options.h"
#include "probes/memory/page_map.h"
#include "probes/thermal/thermal_zones.h"

namespace assay::probes {
namespace {

// Errors written to the journal one by one.
constexpr std::size_t most_recorded = 1000;
constexpr unsigned retest_rounds = 16;

class MemoryTest {
 public:
  MemoryTest(StepContext& context, MemoryOptions options, std::uint64_t size)
      : context_(context), recorder_(context.recorder), options_(std::move(options)), size_(size) {
    for (const Algorithm& test : options_.tests) figures_.push_back({test.name, 0, 0});
  }

  Result<> run() {
    warn();
    const auto edac = read_edac(context_.bench.machine);
    if (auto map = PageMap::open()) {
      page_map_ = std::move(*map);
    } else {
      const std::string why = "unavailable: " + map.error().text();
      recorder_.log(reports::Severity::info, "physical addresses are " + why);
      recorder_.detail("physical_addresses", why);
    }
    start_ns_ = monotonic_ns();
    if (options_.duration_ns != 0) options_.run.deadline_ns = start_ns_ + options_.duration_ns;
    const Result<> done = iterate();
    if (iterations_done_ > 0 || log_.errors() > 0 || context_.cancelled()) report();
    report_edac(recorder_, edac, read_edac(context_.bench.machine));
    return done;
  }

 private:
  bool time_is_over() const {
    return options_.run.deadline_ns != 0 && monotonic_ns() >= options_.run.deadline_ns;
  }

  Result<> iterate() {
    // The last one is under test; those before it are held, so that the next one is other pages.
    std::list<RamRegion> regions;
    std::optional<MemoryRun> run;
    bool whole = true;
    while (iterations_done_ < options_.iterations && whole &&
           (iterations_done_ == 0 || !time_is_over())) {
      if (regions.empty() || options_.fresh_frames) {
        if (run) whole = leave(*run);
        log_.add_iteration(region_number_, iterations_done_);
        if (!whole) break;
        run.reset();
        if (auto taken = take(regions); !taken) return taken;
        run.emplace(regions.back().bytes(), options_.tests, options_.run, context_.bench.workers,
                    context_.bench.ram.hook(), context_.cancel);
        observe(*run);
      }
      const auto iteration = run->iterate(iterations_done_ + 1);
      whole = iteration != MemoryRun::Iteration::cancelled;
      if (iteration != MemoryRun::Iteration::whole) break;
      ++iterations_done_;
      if (page_map_) coverage_.add(std::exchange(frames_, {}));
    }
    if (run && whole) whole = leave(*run);
    log_.add_iteration(region_number_, iterations_done_);
    tell_moved_pages();
    if (options_.offline_bad_pages && log_.errors() > 0) {
      offline_pages(recorder_, context_.bench.machine, log_.bad_pages(PageMap::page_bytes()));
    }
    if (!whole) return fail(ErrorKind::cancelled, "stopped before the last iteration");
    return {};
  }

  // An address that was told may not be the cell's any more: the kernel moves pages.
  void tell_moved_pages() {
    if (!page_map_) return;
    for (const auto& [key, word] : log_.words()) {
      if (word.first.region != region_number_) continue;
      const auto now =
          page_map_->physical_address(reinterpret_cast<const std::byte*>(word.first.address));
      if (!word.first.physical || !now || *now == *word.first.physical) continue;
      recorder_.log(reports::Severity::warning,
                    fmt::format("the page of address {:#018x} moved from physical {:#x} to {:#x}",
                                word.first.address, *word.first.physical, *now));
    }
  }

  // What is owed to the region's last iteration, and its figures.
  bool leave(MemoryRun& run) {
    const bool whole = run.finish();
    for (std::size_t i = 0; i < figures_.size(); ++i) {
      figures_[i].bytes_moved += run.figures()[i].bytes_moved;
      figures_[i].elapsed_ns += run.figures()[i].elapsed_ns;
    }
    return whole;
  }

  // Memory for the next iteration. Those of before are held while there is room for all.
  Result<> take(std::list<RamRegion>& regions) {
    const std::int64_t start = monotonic_ns();
    const auto room = [&] {
      const auto available = context_.bench.ram.available();
      return available && *available >= size_;
    };
    while (!regions.empty() && !room()) regions.pop_front();
    auto taken = RamRegion::allocate(size_, context_.bench.workers, [&](std::size_t present) {
      recorder_.progress(present, size_, "getting " + format_gib(size_) + " of memory");
      return !context_.cancelled();
    });
    if (!taken) return std::unexpected(taken.error());
    if (!taken->locked() && region_number_ == 0) {
      recorder_.log(
          reports::Severity::warning,
          "the memory could not be locked (RLIMIT_MEMLOCK): pages may move or be swapped");
    }
    regions.push_back(std::move(*taken));
    ++region_number_;
    taking_ns_ += monotonic_ns() - start;
    if (!page_map_) return {};
    auto frames = page_map_->frames(regions.back().bytes());
    if (!frames) return {};
    run_bytes_ = typical_run_bytes(*frames, PageMap::page_bytes());
    frames_ = std::move(*frames);
    return {};
  }

  void observe(MemoryRun& run) {
    const std::uint64_t total =
        options_.iterations == UINT64_MAX ? 0 : run.bytes_per_iteration() * options_.iterations;
    const std::uint64_t before =
        options_.fresh_frames ? run.bytes_per_iteration() * iterations_done_ : 0;
    run.on_progress = [this, &run, total, before](std::uint64_t moved, const std::string& text) {
      progress(before + moved, total, run.iteration(), text);
    };
    run.on_error = [this](MemoryError error) { take_error(std::move(error)); };
    run.on_uncounted = [this](std::uint64_t errors) { log_.add_uncounted(errors); };
    run.on_errors_seen = [this, &run] {
      for (const auto& [key, word] : log_.words()) {
        if (context_.cancelled()) return;
        if (word.retest.rounds > 0 || word.first.region != region_number_) continue;
        log_.word(key).retest = run.retest(word.first.offset, word.first.expected, retest_rounds);
      }
    };
  }

  // From any worker.
  void progress(std::uint64_t moved, std::uint64_t total, std::uint64_t iteration,
                const std::string& text) {
    const std::int64_t elapsed = monotonic_ns() - start_ns_;
    // Getting memory is no test of it.
    const std::int64_t testing = std::max<std::int64_t>(elapsed - taking_ns_, 1);
    const std::string of =
        options_.iterations == UINT64_MAX ? "" : "/" + std::to_string(options_.iterations);
    const std::string line = fmt::format("{}  iteration {}{}  errors {}  {:.1f} GB/s", text,
                                         iteration, of, errors_shown_.load(),
                                         static_cast<double>(moved) / static_cast<double>(testing));
    if (options_.duration_ns != 0) {
      recorder_.progress(static_cast<std::uint64_t>(std::min(elapsed, options_.duration_ns)),
                         static_cast<std::uint64_t>(options_.duration_ns), line);
    } else {
      recorder_.progress(moved, total, line);
    }
  }

  void take_error(MemoryError error) {
    if (page_map_) {
      error.physical =
          page_map_->physical_address(reinterpret_cast<const std::byte*>(error.address));
    }
    error.temperature_mc = board_temperature(context_.bench.machine, context_.bench.board);
    error.region = region_number_;
    if (recorded_ < most_recorded) {
      ++recorded_;
      record_error(recorder_, error);
    }
    log_.add(error);
    errors_shown_ = log_.errors();
  }

  void warn() {
    const std::string misses = what_is_missed(options_.tests);
    if (!misses.empty()) {
      recorder_.log(reports::Severity::warning, misses);
      recorder_.detail("misses", misses);
    }
    if (const auto cache = largest_cache(Machine("/")); cache && size_ <= *cache) {
      recorder_.log(reports::Severity::warning,
                    fmt::format("a cache of {} may hold all of the {} under test: what is read may "
                                "never have been in DRAM",
                                format_gib(*cache), format_gib(size_)));
    }
    for (const Algorithm& test : options_.tests) {
      recorder_.log(reports::Severity::info, test.name + ": " + test.notation);
    }
  }

  void report() {
    const auto total = context_.bench.ram.total();
    recorder_.measure("errors", static_cast<std::int64_t>(log_.errors()), "1");
    const std::uint64_t tested = iterations_done_ > 0 ? size_ : 0;
    recorder_.measure("size", static_cast<std::int64_t>(tested), "By");
    if (total) {
      recorder_.measure("coverage", static_cast<double>(tested) / static_cast<double>(*total), "1");
    }
    const auto present = present_frames(Machine("/"));
    if (page_map_ && present && coverage_.unique() > 0) {
      recorder_.measure("physical_coverage",
                        static_cast<double>(coverage_.unique()) / static_cast<double>(*present),
                        "1");
      recorder_.measure("physical_run", static_cast<std::int64_t>(run_bytes_), "By");
    }
    report_figures();
    report_errors(recorder_, log_, size_);
  }

  void report_figures() {
    std::uint64_t moved = 0;
    std::int64_t elapsed = 0;
    nlohmann::json tests = nlohmann::json::array();
    for (std::size_t i = 0; i < figures_.size(); ++i) {
      const TestFigures& f = figures_[i];
      moved += f.bytes_moved;
      elapsed += f.elapsed_ns;
      tests.push_back({{"name", f.name},
                       {"march", options_.tests[i].notation},
                       {"flush", flushes(options_.tests[i])},
                       {"bytes_moved", f.bytes_moved},
                       {"seconds", static_cast<double>(f.elapsed_ns) / 1e9}});
    }
    recorder_.detail("tests", std::move(tests));
    recorder_.measure("iterations", static_cast<std::int64_t>(iterations_done_), "1");
    if (elapsed <= 0 || moved == 0) return;
    const double rate = static_cast<double>(moved) / static_cast<double>(elapsed);
    recorder_.measure("bandwidth", rate, "GBy/s");
    recorder_.headline(fmt::format("{:.1f} GB/s {}", rate, format_gib(size_)));
  }

  // By policy, the elements of a test that it was in force on: of a March test those of one
  // background.
  nlohmann::json flushes(const Algorithm& test) const {
    const std::size_t count = test.elements.size() / std::max(test.backgrounds, 1U);
    std::map<Flush, std::vector<Element>> elements;
    for (std::size_t i = 0; i < count; ++i) {
      elements[flush_of(test.elements[i], options_.run.flush)].push_back(test.elements[i]);
    }
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [flush, of] : elements) json[to_text(flush)] = to_notation(of);
    return json;
  }

  StepContext& context_;
  reports::StepRecorder& recorder_;
  MemoryOptions options_;
  std::uint64_t size_;
  std::optional<PageMap> page_map_;
  FrameCoverage coverage_;
  std::vector<std::uint64_t> frames_;  // of the region, until a whole iteration tested them
  std::uint64_t run_bytes_ = 0;
  ErrorLog log_;
  std::atomic<std::uint64_t> errors_shown_{0};
  std::size_t recorded_ = 0;
  std::uint64_t iterations_done_ = 0;
  std::uint64_t region_number_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t taking_ns_ = 0;
  std::vector<TestFigures> figures_;
};

Result<> check(const Parameters& parameters) {
  if (auto options = read_memory_options(parameters); !options) {
    return std::unexpected(options.error());
  }
  return {};
}

Result<> preflight(const Bench& bench, const Parameters& parameters) {
  // A plan's minimum is judged in the run.
  if (parameters.is_available_size("size") || parameters.has("minimum")) return {};
  if (auto size = memory_size(parameters, bench.ram); !size) return std::unexpected(size.error());
  return {};
}

Result<> run_memory_test(StepContext& context) {
  auto options = read_memory_options(context.parameters);
  if (!options) return std::unexpected(options.error());
  const auto sized = report_size(context.recorder, context.bench.machine, context.bench.board);
  if (!sized) return sized;
  const auto size = memory_size(context.parameters, context.bench.ram);
  if (!size) return std::unexpected(size.error());
  if (*size < std::max<std::uint64_t>(options->minimum_bytes, 1)) {
    return fail(ErrorKind::unavailable,
                fmt::format("the plan wants at least {} tested; this machine can spare {} now",
                            format_gib(options->minimum_bytes), format_gib(*size)));
  }
  if (const std::uint64_t asked = context.parameters.number("size", *size); asked != *size) {
    context.recorder.log(reports::Severity::info,
                         fmt::format("{} bytes asked for, {} tested: whole pages", asked, *size));
  }
  return MemoryTest(context, std::move(*options), *size).run();
}

}  // namespace

Probe memory_test_probe() {
  return {
      .name = "memory.test",
      .summary = "test RAM by all cores: patterns, March tests, moving data, bit fade",
      .parameters = memory_parameters(),
      .measurements = {{"errors", "1", "words that read back wrong", true},
                       {"size", "By", "bytes tested"},
                       {"coverage", "1", "bytes tested of all that the kernel has"},
                       {"physical_coverage", "1", "page frames tested of all that there are"},
                       {"physical_run", "By", "bytes that follow each other in physical memory"},
                       {"memory_seen", "By", "memory that the kernel sees"},
                       {"iterations", "1", "times that all tests ran"},
                       {"ecc_corrected", "1", "errors that ECC corrected meanwhile"},
                       {"ecc_uncorrected", "1", "errors that ECC could not correct"},
                       {"bandwidth", "GBy/s", "bytes read and written a second"}},
      .check = check,
      .preflight = preflight,
      .run = run_memory_test,
      .monitor = nullptr,
  };
}

}  // namespace assay::probes
