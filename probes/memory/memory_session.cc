#include "probes/memory/memory_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <list>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/units.h"
#include "probes/memory/frame_coverage.h"
#include "probes/memory/memory_findings.h"
#include "probes/memory/memory_options.h"
#include "probes/memory/memory_watch.h"
#include "probes/thermal/thermal_zones.h"

namespace assay::probes {
namespace {

constexpr unsigned retest_rounds = 16;
// As much as caches hold that one meets.
constexpr std::uint64_t unknown_cache_bytes = std::uint64_t{64} << 20;

class MemorySession {
 public:
  MemorySession(StepContext& context, MemoryOptions options, std::uint64_t size)
      : context_(context),
        recorder_(context.recorder),
        options_(std::move(options)),
        size_(size),
        watch_(context.bench.ram, context.cancel, [this] { return give_back_held(); }) {
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
    if (iterations_done_ > 0 || log_.errors() > 0 || context_.cancelled() || watch_.is_short()) {
      report();
    }
    report_edac(recorder_, edac, read_edac(context_.bench.machine));
    return done;
  }

 private:
  bool time_is_over() const {
    return options_.run.deadline_ns != 0 && monotonic_ns() >= options_.run.deadline_ns;
  }

  Result<> iterate() {
    std::optional<MemoryRun> run;
    Result<> taken;
    bool whole = true;
    while (iterations_done_ < options_.iterations && whole &&
           (iterations_done_ == 0 || !time_is_over())) {
      if (regions_.empty() || options_.fresh_frames) {
        if (run) whole = leave(*run, true);
        log_.add_iteration(region_number_, iterations_done_);
        if (!whole) break;
        run.reset();
        tell_moved_pages();
        taken = take();
        if (!taken) break;
        run.emplace(regions_.back().bytes(), options_.tests, options_.run, context_.bench.workers,
                    context_.bench.ram.hook(), watch_.stop());
        observe(*run);
      }
      const auto iteration = run->iterate(iterations_done_ + 1);
      whole = iteration != MemoryRun::Iteration::cancelled;
      if (iteration != MemoryRun::Iteration::whole) break;
      ++iterations_done_;
      if (page_map_) coverage_.add(std::exchange(frames_, {}));
    }
    if (run) whole = leave(*run, whole);
    log_.add_iteration(region_number_, iterations_done_);
    tell_moved_pages();
    if (options_.offline_bad_pages && log_.errors() > 0) {
      offline_pages(recorder_, context_.bench.machine, log_);
    }
    if (!taken) return taken;
    if (watch_.is_short()) {
      return std::unexpected(watch_.error(fmt::format("in iteration {}", iterations_done_ + 1)));
    }
    if (!whole) return fail(ErrorKind::cancelled, "stopped before the last iteration");
    return {};
  }

  // Regions of earlier iterations, by a worker.
  bool give_back_held() {
    if (regions_.size() <= 1) return false;
    regions_.front().give_back();
    regions_.pop_front();
    ++given_back_;
    return true;
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

  // What is owed to the region's last iteration unless it was cut off, and its figures.
  bool leave(MemoryRun& run, bool whole) {
    whole = whole && run.finish();
    for (std::size_t i = 0; i < figures_.size(); ++i) {
      figures_[i].bytes_moved += run.figures()[i].bytes_moved;
      figures_[i].elapsed_ns += run.figures()[i].elapsed_ns;
    }
    return whole;
  }

  // Memory for the next iteration. Those of before are held while there is room for all.
  Result<> take() {
    const std::int64_t start = monotonic_ns();
    const auto room = [&] {
      const auto available = context_.bench.ram.available();
      return available && *available >= size_;
    };
    while (!regions_.empty() && !room()) regions_.pop_front();
    if (regions_.empty() && region_number_ == 1) {
      recorder_.log(
          reports::Severity::info,
          "there is no room to hold the pages tested and to take others: later iterations "
          "mostly get the same ones");
    }
    auto taken = allocate();
    if (const std::size_t given_back = std::exchange(given_back_, 0); given_back > 0) {
      recorder_.log(reports::Severity::info,
                    fmt::format("other programs took memory: pages of {} earlier iterations, held "
                                "so that later ones take others, were given back",
                                given_back));
    }
    if (!taken) return std::unexpected(taken.error());
    if (!taken->locked() && region_number_ == 0) {
      recorder_.log(
          reports::Severity::warning,
          "the memory could not be locked (RLIMIT_MEMLOCK): pages may move or be swapped");
    }
    regions_.push_back(std::move(*taken));
    ++region_number_;
    taking_ns_ += monotonic_ns() - start;
    if (!page_map_) return {};
    auto frames = page_map_->frames(regions_.back().bytes());
    if (!frames) return {};
    run_bytes_ = typical_run_bytes(*frames, PageMap::page_bytes());
    frames_ = std::move(*frames);
    return {};
  }

  Result<RamRegion> allocate() {
    const auto keep_going = [&](std::size_t present) {
      recorder_.progress(present, size_, "getting " + format_gib(size_) + " of memory");
      return !context_.cancelled();
    };
    auto region =
        RamRegion::allocate(size_, context_.bench.workers, keep_going, context_.bench.ram);
    if (region || region.error().kind != ErrorKind::exhausted || regions_.empty()) return region;
    // Others took the room meanwhile.
    regions_.pop_front();
    ++given_back_;
    return allocate();
  }

  void observe(MemoryRun& run) {
    // 0, which is unknown, also where it would be more than a number can say.
    Work all;
    std::uint64_t holds = 0;
    if (__builtin_mul_overflow(run.bytes_per_iteration(), options_.iterations, &all.bytes) ||
        __builtin_mul_overflow(run.holds_per_iteration(), options_.iterations, &holds) ||
        __builtin_mul_overflow(options_.run.hold_ns, holds, &all.held_ns)) {
      all = {};
    }
    const std::uint64_t moved_before =
        options_.fresh_frames ? run.bytes_per_iteration() * iterations_done_ : 0;
    const std::int64_t held_before = held_ns_;
    run.on_progress = [=, this, &run](std::uint64_t moved, const std::string& text) {
      watch_.look();
      held_ns_ = held_before + run.held_ns();
      progress({moved_before + moved, held_ns_}, all, run.iteration(), text);
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

  struct Work {
    std::uint64_t bytes = 0;
    std::int64_t held_ns = 0;  // data left alone
  };

  // From any worker.
  void progress(const Work& done, const Work& all, std::uint64_t iteration,
                const std::string& text) {
    const std::int64_t elapsed = monotonic_ns() - start_ns_;
    // Neither getting memory nor leaving it alone moves anything.
    const std::int64_t testing = std::max<std::int64_t>(elapsed - taking_ns_ - done.held_ns, 1);
    const std::string of =
        options_.iterations == UINT64_MAX ? "" : "/" + std::to_string(options_.iterations);
    const std::string line = fmt::format(
        "{}  iteration {}{}  errors {}  {:.1f} GB/s", text, iteration, of, errors_shown_.load(),
        static_cast<double>(done.bytes) / static_cast<double>(testing));
    if (options_.duration_ns != 0) {
      recorder_.progress(static_cast<std::uint64_t>(std::min(elapsed, options_.duration_ns)),
                         static_cast<std::uint64_t>(options_.duration_ns), line);
    } else if (all.held_ns > 0 && done.bytes > 0) {
      // In time, of which the holds are the most.
      const double moving = static_cast<double>(testing) / static_cast<double>(done.bytes) *
                            static_cast<double>(all.bytes);
      recorder_.progress(
          static_cast<std::uint64_t>(testing + done.held_ns),
          static_cast<std::uint64_t>(moving) + static_cast<std::uint64_t>(all.held_ns), line);
    } else {
      recorder_.progress(done.bytes, all.bytes, line);
    }
  }

  void take_error(MemoryError error) {
    if (page_map_) {
      error.physical =
          page_map_->physical_address(reinterpret_cast<const std::byte*>(error.address));
    }
    error.temperature_mc = board_temperature(context_.bench.machine, context_.bench.board);
    error.region = region_number_;
    if (error.data == Background::Kind::address) error.other_physical = physical_address_in(error);
    if (recorded_ < most_recorded_errors) {
      ++recorded_;
      record_error(recorder_, error);
    }
    log_.add(error);
    errors_shown_ = log_.errors();
  }

  // Of the word whose own address, or that inverted, was read where another should be.
  std::optional<std::uint64_t> physical_address_in(const MemoryError& error) const {
    if (!page_map_ || !error.physical) return std::nullopt;
    const std::uint64_t begin = error.address - error.offset;
    for (const std::uint64_t value : {error.actual, ~error.actual}) {
      if (value < begin || value - begin >= size_) continue;
      const auto at = page_map_->physical_address(reinterpret_cast<const std::byte*>(value));
      if (at) return *at;
    }
    return std::nullopt;
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
    } else if (!cache && size_ < unknown_cache_bytes) {
      recorder_.log(reports::Severity::warning,
                    fmt::format("the kernel tells no cache size: the {} under test may fit into a "
                                "cache and never have been in DRAM",
                                format_gib(size_)));
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
  // The last one is under test; those before it are held, so that the next one is other pages.
  std::list<RamRegion> regions_;
  std::size_t given_back_ = 0;
  MemoryWatch watch_;
  std::atomic<std::int64_t> held_ns_{0};
  std::atomic<std::uint64_t> errors_shown_{0};
  std::size_t recorded_ = 0;
  std::uint64_t iterations_done_ = 0;
  std::uint64_t region_number_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t taking_ns_ = 0;
  std::vector<TestFigures> figures_;
};

}  // namespace

Result<> run_memory_session(StepContext& context, MemoryOptions options, std::uint64_t size) {
  return MemorySession(context, std::move(options), size).run();
}

}  // namespace assay::probes
