#include "probes/memory/memory_test.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <set>

#include "base/clock.h"
#include "base/units.h"
#include "probes/memory/pattern_kernel.h"

namespace assay::probes {
namespace {

// Worked on between two looks at the cancel token: some milliseconds.
constexpr std::size_t chunk_bytes = std::size_t{16} << 20;
// Mismatches written to the journal one by one; beyond them they are counted.
constexpr std::size_t max_recorded = 1000;
constexpr std::size_t cache_line = 64;
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t smallest_bytes = page_bytes;

struct Pass {
  std::uint64_t errors = 0;
  std::int64_t elapsed_ns = 0;
  bool whole = true;  // not cancelled
};

class PatternTest {
 public:
  PatternTest(StepContext& context, RamRegion& region, std::uint64_t total_passes)
      : context_(context), region_(region), total_bytes_(total_passes * region.bytes().size()) {}

  Pass fill(std::uint64_t pattern) {
    return run([&](std::span<std::byte> part) {
      fill_pattern(part, pattern);
      return std::uint64_t{0};
    });
  }

  Pass verify(std::uint64_t pattern, const std::string& name, std::uint64_t iteration) {
    return run([&](std::span<std::byte> part) {
      std::vector<Mismatch> mismatches;
      const std::uint64_t wrong = verify_pattern(part, pattern, mismatches, max_recorded);
      for (const Mismatch& m : mismatches) {
        const auto offset =
            static_cast<std::uint64_t>(part.data() - region_.bytes().data()) + m.offset;
        record(offset, pattern, m.actual, name, iteration);
      }
      return wrong;
    });
  }

  void describe(const std::string& text) { text_ = text; }
  std::uint64_t flipped_bits() const { return flipped_bits_; }
  // Different ones, "1000 or more" at the most.
  std::string addresses() const {
    return addresses_.size() < max_recorded ? std::to_string(addresses_.size()) : "1000 or more";
  }
  const std::vector<std::string>& evidence() const { return evidence_; }

 private:
  template <class Work>
  Pass run(const Work& work) {
    const std::span<std::byte> all = region_.bytes();
    std::atomic<std::uint64_t> errors{0};
    std::atomic<bool> whole{true};
    const std::int64_t start = monotonic_ns();
    context_.bench.workers.run([&](unsigned worker) {
      const Share share = share_of(all.size(), worker, context_.bench.workers.size(), cache_line);
      for (std::size_t at = share.first; at < share.last; at += chunk_bytes) {
        if (context_.cancelled()) {
          whole = false;
          return;
        }
        const std::size_t length = std::min(chunk_bytes, share.last - at);
        errors += work(all.subspan(at, length));
        context_.recorder.progress(done_bytes_ += length, total_bytes_, text_);
      }
    });
    return {errors, monotonic_ns() - start, whole};
  }

  void record(std::uint64_t offset, std::uint64_t expected, std::uint64_t actual,
              const std::string& name, std::uint64_t iteration) {
    const std::uint64_t mask = expected ^ actual;
    const auto address = reinterpret_cast<std::uintptr_t>(region_.bytes().data()) + offset;
    const std::lock_guard lock(mutex_);
    flipped_bits_ |= mask;
    if (addresses_.size() < max_recorded) addresses_.insert(address);
    if (recorded_++ >= max_recorded) return;
    context_.recorder.extension("assay.memory.mismatch",
                                {{"address", fmt::format("{:#018x}", address)},
                                 {"offset", offset},
                                 {"expected", fmt::format("{:#018x}", expected)},
                                 {"actual", fmt::format("{:#018x}", actual)},
                                 {"mask", fmt::format("{:#018x}", mask)},
                                 {"test", name},
                                 {"iteration", iteration}});
    if (evidence_.size() < 8) {
      evidence_.push_back(
          fmt::format("address {:#018x}: expected {:#018x}, found {:#018x}, bits "
                      "{:#018x} ({}, iteration {})",
                      address, expected, actual, mask, name, iteration));
    }
  }

  StepContext& context_;
  RamRegion& region_;
  std::uint64_t total_bytes_;
  std::atomic<std::uint64_t> done_bytes_{0};
  std::string text_;
  std::mutex mutex_;
  std::uint64_t flipped_bits_ = 0;
  std::size_t recorded_ = 0;
  std::set<std::uintptr_t> addresses_;
  std::vector<std::string> evidence_;
};

Result<> check(const Parameters& parameters) {
  for (const std::string& test : parameters.texts("tests")) {
    if (auto pattern = parse_pattern(test); !pattern) return std::unexpected(pattern.error());
  }
  const std::uint64_t size = parameters.number("size", smallest_bytes);
  const std::uint64_t minimum = parameters.number("minimum", smallest_bytes);
  for (const auto& [name, bytes] : {std::pair("size", size), std::pair("minimum", minimum)}) {
    if (bytes >= smallest_bytes) continue;
    return fail(ErrorKind::usage, fmt::format("{} bytes are no test", bytes), name,
                "expected at least 4KiB");
  }
  if (parameters.has("size") && !parameters.is_available_size("size") && size < minimum) {
    return fail(ErrorKind::usage, "more than the size that is tested", "minimum");
  }
  return {};
}

Result<> preflight(const Bench& bench, const Parameters& parameters) {
  if (parameters.is_available_size("size")) return {};
  const auto available = bench.ram.available();
  if (!available) return std::unexpected(available.error());
  const std::uint64_t wanted = parameters.number("size", 0);
  if (wanted > *available) {
    return fail(ErrorKind::usage,
                fmt::format("{} asked for; this machine can spare {} now", format_gib(wanted),
                            format_gib(*available)),
                "size", "ask for less, or for \"available\"");
  }
  return {};
}

Result<> run_memory_test(StepContext& context) {
  reports::StepRecorder& recorder = context.recorder;
  const auto available = context.bench.ram.available();
  const auto total = context.bench.ram.total();
  if (!available) return std::unexpected(available.error());
  if (!total) return std::unexpected(total.error());

  const std::uint64_t asked = context.parameters.number("size", *available);
  // Whole pages.
  const std::uint64_t size = asked / page_bytes * page_bytes;
  if (size != asked && context.parameters.has("size") &&
      !context.parameters.is_available_size("size")) {
    recorder.log(reports::Severity::info,
                 fmt::format("{} bytes asked for, {} tested: whole pages", asked, size));
  }
  const std::uint64_t minimum = context.parameters.number("minimum", smallest_bytes);
  if (size < minimum) {
    return fail(ErrorKind::unavailable,
                fmt::format("the plan wants at least {} tested; this machine can spare {} now",
                            format_gib(minimum), format_gib(size)));
  }
  const std::vector<std::string> tests = context.parameters.texts("tests");
  const std::uint64_t iterations = context.parameters.number("iterations", 1);

  auto region = RamRegion::allocate(size, context.bench.workers, [&](std::size_t present) {
    recorder.progress(present, size, "getting " + format_gib(size) + " of memory");
    return !context.cancelled();
  });
  if (!region) return std::unexpected(region.error());
  if (!region->locked()) {
    recorder.log(reports::Severity::warning,
                 "the memory could not be locked (RLIMIT_MEMLOCK): pages may move or be swapped");
  }
  if (tests.size() == 1) {
    recorder.log(reports::Severity::warning,
                 "one fixed pattern alone finds half of all stuck bits and no transition, address "
                 "or coupling fault");
  }

  PatternTest test(context, *region, iterations * tests.size() * 2);
  std::uint64_t errors = 0;
  std::int64_t fill_ns = 0;
  std::int64_t verify_ns = 0;
  std::uint64_t passes = 0;
  for (std::uint64_t iteration = 1; iteration <= iterations; ++iteration) {
    for (const std::string& name : tests) {
      const auto pattern = parse_pattern(name);
      if (!pattern) return std::unexpected(pattern.error());
      test.describe(
          fmt::format("{}  iteration {}/{}  errors {}", name, iteration, iterations, errors));
      const Pass filled = test.fill(*pattern);
      context.bench.ram.settle(region->bytes());
      const Pass verified =
          filled.whole ? test.verify(*pattern, name, iteration) : Pass{.whole = false};
      errors += verified.errors;
      if (!filled.whole || !verified.whole) break;
      fill_ns += filled.elapsed_ns;
      verify_ns += verified.elapsed_ns;
      ++passes;
    }
    if (context.cancelled()) break;
  }

  recorder.measure("errors", static_cast<std::int64_t>(errors), "1");
  recorder.measure("size", static_cast<std::int64_t>(region->bytes().size()), "By");
  recorder.measure("coverage",
                   static_cast<double>(region->bytes().size()) / static_cast<double>(*total), "1");
  if (passes > 0) {
    const double moved = static_cast<double>(passes) * static_cast<double>(region->bytes().size());
    recorder.measure("fill_bandwidth", moved / static_cast<double>(fill_ns), "GBy/s");
    recorder.measure("verify_bandwidth", moved / static_cast<double>(verify_ns), "GBy/s");
    recorder.measure("bandwidth", 2 * moved / static_cast<double>(fill_ns + verify_ns), "GBy/s");
    recorder.headline(fmt::format("{:.1f} GB/s {}",
                                  2 * moved / static_cast<double>(fill_ns + verify_ns),
                                  format_gib(region->bytes().size())));
  }
  if (errors > 0) {
    recorder.finding(
        {.code = "MEM_CORRUPTION_ERR",
         .message = fmt::format("{} reads gave a wrong word, at {} addresses of {}; bits that "
                                "flipped: {:#018x}.",
                                errors, test.addresses(), format_gib(region->bytes().size()),
                                test.flipped_bits()),
         .where = "RAM",
         .evidence = test.evidence()});
    recorder.headline(fmt::format("{} errors", errors));
  }
  if (context.cancelled()) return fail(ErrorKind::cancelled, "stopped before the last iteration");
  return {};
}

}  // namespace

Result<std::uint64_t> parse_pattern(const std::string& text) {
  const auto bad = [&] {
    return fail(ErrorKind::usage, "\"" + text.substr(0, 40) + "\" is not a pattern", "tests",
                "write 0x and 2, 4, 8 or 16 hex digits, such as 0xAAAAAAAA");
  };
  if (!text.starts_with("0x") && !text.starts_with("0X")) return bad();
  const std::size_t digits = text.size() - 2;
  if (digits != 2 && digits != 4 && digits != 8 && digits != 16) return bad();
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + 2, end, value, 16);
  if (error != std::errc{} || at != end) return bad();
  for (std::size_t bits = digits * 4; bits < 64; bits *= 2) value |= value << bits;
  return value;
}

Probe memory_test_probe() {
  return {
      .name = "memory.test",
      .summary = "write patterns to RAM by all cores and read them back",
      .parameters = {{"tests", ParameterType::text_list, "patterns such as 0xAAAAAAAA", true},
                     {"size", ParameterType::size, "how much, or available", true},
                     {"minimum", ParameterType::size, "less than this is no test"},
                     {"iterations", ParameterType::count, "times that all tests run"}},
      .measurements = {{"errors", "1", "words that read back wrong", true},
                       {"size", "By", "bytes tested"},
                       {"coverage", "1", "bytes tested of all that the kernel has"},
                       {"fill_bandwidth", "GBy/s", "bytes written a second"},
                       {"verify_bandwidth", "GBy/s", "bytes read a second"},
                       {"bandwidth", "GBy/s", "bytes moved a second, both passes"}},
      .check = check,
      .preflight = preflight,
      .run = run_memory_test,
      .monitor = nullptr,
  };
}

}  // namespace assay::probes
