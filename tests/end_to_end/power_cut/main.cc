// power_cut: flashes a board in QEMU and takes its power away, again and again. First at chosen
// bytes of chosen writes to its flash chip, then at random times. After each cut it has to boot an
// image that it may boot, the old one or the new one as far as it had come, and to take another
// one.
#include <fmt/core.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "tests/base/scratch.h"
#include "tests/end_to_end/power_cut/cut_bench.h"

namespace {

using namespace assay;
using namespace assay::test;

constexpr const char* usage_text =
    "usage: power_cut --cuts N [--seed S]\n"
    "\n"
    "Cuts the power of the reference firmware in QEMU: inside chosen writes to its flash chip, "
    "then N\n"
    "times at random. A line for each cut, a table at the end.\n"
    "Exit codes: 0 it always came back, 1 a brick, 2 arguments or the bench itself.\n";

struct Options {
  unsigned cuts = 0;
  unsigned seed = 1;
};

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  bool has_cuts = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* const end = argv[i + 1] + std::strlen(argv[i + 1]);
    unsigned value = 0;
    const auto [rest, error] = std::from_chars(argv[i + 1], end, value);
    if (error != std::errc() || rest != end) return std::nullopt;
    if (name == "--cuts") {
      options.cuts = value;
      has_cuts = true;
    } else if (name == "--seed") {
      options.seed = value;
    } else {
      return std::nullopt;
    }
  }
  if (!has_cuts || argc % 2 == 0) return std::nullopt;
  return options;
}

// Every kind of write that an update makes, torn where it matters.
std::vector<WriteCut> sweep() {
  std::vector<WriteCut> cuts;
  const auto add = [&](Stage stage, bool erase, int index, std::vector<std::uint64_t> bytes) {
    for (const std::uint64_t b : bytes) cuts.push_back({stage, erase, index, b});
  };
  // The slot's sector, and its programs of 256 bytes; the file gets 4 KiB each time, those before
  // and behind unchanged. The image's header is the first.
  add(Stage::transfer, true, 0, {0, 1, 256, 4096, 100'000, 262'143, 262'144});
  add(Stage::transfer, false, 0, {0, 1, 128, 255, 256});
  add(Stage::transfer, false, 8, {2048, 2051, 2303});
  add(Stage::transfer, false, 15, {3840, 3841, 4095, 4096});
  // The end of the image, and the boot record that announces it.
  add(Stage::finish, false, 0, {0, 1, 100, 160, 4096});
  for (const Stage stage : {Stage::finish, Stage::trial_boot, Stage::confirm}) {
    add(stage, true, 0, {0, 1, 16, 100'000, 262'143});
    add(stage, false, stage == Stage::finish ? 1 : 0, {0, 1, 4, 8, 11, 12, 15, 16});
  }
  add(Stage::revert_boot, true, 0, {0, 16, 100'000});
  add(Stage::revert_boot, false, 0, {0, 8, 16});
  // The second sector of a longer image.
  cuts.push_back({Stage::transfer, true, 1, 100'000, 270'000});
  return cuts;
}

TimedCut at_random(std::mt19937& random, unsigned number) {
  // The transfer is the longest; the others are where records are written.
  static constexpr Stage stages[] = {Stage::transfer,   Stage::transfer, Stage::finish,
                                     Stage::trial_boot, Stage::confirm,  Stage::revert_boot,
                                     Stage::cold_boot};
  TimedCut cut{.stage = stages[random() % std::size(stages)],
               .part = static_cast<double>(random() % 1000) / 1000,
               .more_ns = static_cast<std::int64_t>(random() % 10'000'000),
               .payload_bytes = static_cast<std::uint32_t>(1000 + random() % 20'000),
               .boots_cut = random() % 3 == 0 ? static_cast<int>(1 + random() % 2) : 0};
  // Now and then an image that spans sectors.
  if (number % 12 == 11) {
    cut.stage = Stage::transfer;
    cut.payload_bytes = 262'144 + static_cast<std::uint32_t>(random() % 40'000);
  }
  return cut;
}

struct Count {
  int cuts = 0;
  int in_erase = 0;
  int in_program = 0;
  int old_image = 0;
  int new_image = 0;
  std::int64_t ns = 0;
};

class Tally {
 public:
  explicit Tally(std::size_t planned) : planned_(planned) {}

  void add(const std::string& kind, const CutOutcome& outcome, std::int64_t ns) {
    ++done_;
    Count& count = counts_[kind + ", " + to_text(outcome.stage)];
    ++count.cuts;
    (outcome.new_image ? count.new_image : count.old_image) += 1;
    if (outcome.in_write) (outcome.in_erase ? count.in_erase : count.in_program) += 1;
    count.ns += ns;
    boots_cut_ += outcome.boots_cut;
    fmt::print("{}/{} {}, {}{}: {} image, {:.1f} s\n", done_, planned_, kind,
               to_text(outcome.stage),
               !outcome.in_write   ? ""
               : outcome.in_record ? " in a record"
                                   : " in a slot",
               outcome.new_image ? "new" : "old", static_cast<double>(ns) / ns_per_s);
    std::fflush(stdout);
  }

  void print() const {
    fmt::print("\n{:<24}{:>6}{:>10}{:>12}{:>6}{:>6}{:>8}\n", "phase", "cuts", "in erase",
               "in program", "old", "new", "s/cut");
    Count all;
    for (const auto& [name, count] : counts_) {
      row(name, count);
      all.cuts += count.cuts;
      all.in_erase += count.in_erase;
      all.in_program += count.in_program;
      all.old_image += count.old_image;
      all.new_image += count.new_image;
      all.ns += count.ns;
    }
    row("all", all);
    fmt::print("and {} boots after a cut were cut, too\n", boots_cut_);
  }

 private:
  static void row(const std::string& name, const Count& c) {
    fmt::print("{:<24}{:>6}{:>10}{:>12}{:>6}{:>6}{:>8.2f}\n", name, c.cuts, c.in_erase,
               c.in_program, c.old_image, c.new_image,
               static_cast<double>(c.ns) / ns_per_s / std::max(c.cuts, 1));
  }

  std::size_t planned_;
  std::size_t done_ = 0;
  int boots_cut_ = 0;
  std::map<std::string, Count> counts_;
};

int failed(const Error& error, const std::string& what, unsigned seed) {
  const bool is_brick = error.kind == ErrorKind::protocol;
  fmt::print("{}: {} (seed {}): {}\n", is_brick ? "BRICK" : "cannot go on", what, seed,
             error.text());
  return is_brick ? 1 : 2;
}

std::string describe(const WriteCut& cut) {
  return fmt::format("{} {} {}, {} bytes", to_text(cut.stage), cut.erase ? "erase" : "program",
                     cut.index, cut.bytes);
}

int run(const Options& options) {
  const Scratch folder;
  auto bench = CutBench::make(folder.root(), options.seed);
  if (!bench) return failed(bench.error(), "the first images", options.seed);
  const std::vector<WriteCut> chosen = sweep();
  Tally tally(chosen.size() + options.cuts);
  for (const WriteCut& cut : chosen) {
    const std::int64_t begin = monotonic_ns();
    const auto outcome = (*bench)->run(cut);
    if (!outcome) return failed(outcome.error(), describe(cut), options.seed);
    tally.add("chosen", *outcome, monotonic_ns() - begin);
  }
  std::mt19937 random(options.seed);
  for (unsigned i = 0; i < options.cuts; ++i) {
    const TimedCut cut = at_random(random, i);
    const std::int64_t begin = monotonic_ns();
    const auto outcome = (*bench)->run(cut);
    if (!outcome) {
      return failed(outcome.error(), fmt::format("random cut {} in {}", i, to_text(cut.stage)),
                    options.seed);
    }
    tally.add("random", *outcome, monotonic_ns() - begin);
  }
  tally.print();
  fmt::print("serial line: {:.1f} kB/s; no brick\n", (*bench)->bytes_per_second() / 1000);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) {
    std::fputs(usage_text, stderr);
    return 2;
  }
  return run(*options);
}
