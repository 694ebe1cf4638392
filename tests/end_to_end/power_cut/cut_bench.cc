#include "tests/end_to_end/power_cut/cut_bench.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <time.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "firmware/device/qemu-virt/layout.h"
#include "tests/firmware/firmware_image.h"

namespace assay::test {
namespace {

namespace virt = firmware::device::qemu_virt;

constexpr const char* board_id = "reference";
// QEMU writes a program to the file by the two chips' whole buffers, an erase by the sector.
constexpr std::uint64_t erase_size = virt::CfiFlash::sector_bytes;
constexpr std::uint64_t program_size = 4096;
constexpr std::uint32_t second_payload_bytes = 2'000;
constexpr std::int64_t slice_ns = 50 * ns_per_ms;
// A boot record is 16 bytes, the last four its checksum: with some of them it may be whole by
// chance.
constexpr std::uint64_t record_bytes = 16;
constexpr std::uint64_t record_checked_bytes = 12;

void sleep_ns(std::int64_t ns) {
  const timespec duration{static_cast<time_t>(ns / ns_per_s), static_cast<long>(ns % ns_per_s)};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, nullptr);
}

std::unexpected<Error> brick(std::string what) {
  return fail(ErrorKind::protocol, std::move(what));
}

}  // namespace

const char* to_text(Stage stage) {
  switch (stage) {
    case Stage::transfer:
      return "transfer";
    case Stage::finish:
      return "finish";
    case Stage::trial_boot:
      return "trial boot";
    case Stage::confirm:
      return "confirm";
    case Stage::revert_boot:
      return "revert boot";
    case Stage::cold_boot:
      return "cold boot";
    case Stage::idle:
      return "idle";
  }
  return "";
}

Result<std::unique_ptr<CutBench>> CutBench::make(const std::string& folder, unsigned seed) {
  std::unique_ptr<CutBench> bench(new CutBench(folder, seed));
  if (auto done = bench->set_up(); !done) return std::unexpected(done.error());
  return bench;
}

CutBench::~CutBench() {
  if (board_ != nullptr) power_off();
  if (control_ != nullptr) ::munmap(control_, sizeof(CutControl));
}

Result<> CutBench::set_up() {
  const std::string page = folder_ + "/control";
  const UniqueFd file(::open(page.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file || ::ftruncate(file.get(), sizeof(CutControl)) != 0)
    return fail_errno(errno, "make", page);
  void* const mapped =
      ::mmap(nullptr, sizeof(CutControl), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return fail_errno(errno, "map", page);
  control_ = static_cast<CutControl*>(mapped);
  control_->writes_left = -1;

  auto board = QemuBoard::make(
      folder_, {.board = board_id,
                .environment = {"LD_PRELOAD=" ASSAY_CUTSHIM, "CUT_FILE=" + folder_ + "/flash1",
                                "CUT_CONTROL=" + page}});
  if (!board) return std::unexpected(board.error());
  board_ = std::move(*board);
  flash_file_ = UniqueFd(::open(board_->flash_path().c_str(), O_RDWR | O_CLOEXEC));
  if (!flash_file_) return fail_errno(errno, "open", board_->flash_path());

  if (auto up = boot(); !up) return std::unexpected(up.error());
  // Twice, so that each slot has held an image.
  for (int i = 0; i < 2; ++i) {
    const std::string version = next_version();
    const auto image = firmware_image(version, second_payload_bytes, board_id);
    if (auto lived = live(image, version, Stage::confirm, {}); !lived) return lived;
    running_ = version;
  }
  power_off();
  const std::int64_t begin = monotonic_ns();
  if (auto up = boot(); !up) return std::unexpected(up.error());
  for (const Stage stage : {Stage::revert_boot, Stage::cold_boot}) {
    stage_ns_[static_cast<std::size_t>(stage)] = monotonic_ns() - begin;
  }
  return {};
}

std::string CutBench::next_version() {
  return fmt::format("1.0.{}", ++versions_);
}

double CutBench::bytes_per_second() const {
  return static_cast<double>(line_bytes_) * static_cast<double>(ns_per_s) /
         static_cast<double>(line_ns_);
}

void CutBench::enter(Stage stage, const Watch& watch, std::uint64_t bytes) {
  const std::int64_t now = monotonic_ns();
  if (stage != stage_) {
    stage_ns_[static_cast<std::size_t>(stage_.load())] = now - stage_began_ns_;
    stage_began_ns_ = now;
  }
  stage_ = stage;
  if (watch) watch(stage, bytes);
}

void CutBench::power_off() {
  watcher_ = {};
  board_->power_off();
}

Result<std::string> CutBench::boot() {
  console_.reset();
  dead_ = std::make_unique<CancelToken>();
  auto console = BoardConsole::open(board_->port(), dead_.get());
  if (!console) return std::unexpected(console.error());
  console_ = std::move(*console);
  if (auto on = board_->power_on(); !on) return std::unexpected(on.error());
  watcher_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (board_->wait_until_dead(monotonic_ns() + slice_ns)) return dead_->cancel();
    }
  });
  return console_->read_boot();
}

Result<> CutBench::flash_and_try(const std::vector<std::uint8_t>& image, const std::string& version,
                                 const Watch& watch) {
  enter(Stage::transfer, watch);
  std::int64_t first_ns = 0;
  std::uint64_t first_bytes = 0;
  const auto verdict = console_->flash(image, [&](std::uint64_t bytes) {
    if (first_bytes == 0) {
      first_bytes = bytes;
      first_ns = monotonic_ns();
    }
    if (bytes == image.size()) {
      line_bytes_ += bytes - first_bytes;
      line_ns_ += monotonic_ns() - first_ns;
    }
    enter(bytes == image.size() ? Stage::finish : Stage::transfer, watch, bytes);
  });
  if (!verdict) return std::unexpected(verdict.error());
  if (*verdict != "OK") return brick("an update was refused: " + *verdict);
  enter(Stage::trial_boot, watch);
  const auto said = console_->reset();
  if (!said) return std::unexpected(said.error());
  if (!said->ends_with(" " + version + " on trial")) {
    return brick("a new image was not tried: " + *said);
  }
  return {};
}

Result<> CutBench::live(const std::vector<std::uint8_t>& image, const std::string& version,
                        Stage last, const Watch& watch) {
  stage_ = Stage::idle;
  stage_began_ns_ = monotonic_ns();
  if (last == Stage::cold_boot) {
    power_off();
    enter(Stage::cold_boot, watch);
    if (auto said = boot(); !said) return std::unexpected(said.error());
  } else {
    if (auto tried = flash_and_try(image, version, watch); !tried) return tried;
    if (last == Stage::revert_boot) {
      power_off();
      enter(Stage::revert_boot, watch);
      if (auto said = boot(); !said) return std::unexpected(said.error());
    } else {
      enter(Stage::confirm, watch);
      if (auto kept = console_->ask("AT+CONFIRM"); !kept) return std::unexpected(kept.error());
    }
  }
  enter(Stage::idle, watch);
  return {};
}

CutOutcome CutBench::end_life(Stage stage) {
  power_off();
  CutOutcome outcome{.stage = stage};
  const std::uint64_t size = control_->current_size;
  const std::uint64_t offset = control_->current_offset;
  outcome.in_write = size != 0;
  outcome.in_erase = size == erase_size;
  outcome.in_record = outcome.in_write && offset < virt::flash_layout.slots[0];
  control_->writes_left = -1;
  control_->current_size = 0;
  if (outcome.in_erase) {
    // Cells that were on their way read as anything.
    std::vector<std::uint8_t> sector(size);
    if (::pread(flash_file_.get(), sector.data(), size, static_cast<off_t>(offset)) > 0) {
      for (auto& byte : sector) {
        if (random_() % 4 == 0) byte ^= static_cast<std::uint8_t>(random_());
      }
      (void)::pwrite(flash_file_.get(), sector.data(), size, static_cast<off_t>(offset));
    }
  }
  return outcome;
}

Result<> CutBench::recover(const std::string& new_version, Allowed allowed, CutOutcome* outcome) {
  const auto said = boot();
  if (!said) return brick("no boot after the cut: " + said.error().text());
  const auto runs = [&](const std::string& version) {
    return (*said + " ").find(" " + version + " ") != std::string::npos;
  };
  outcome->new_image = runs(new_version);
  if (!outcome->new_image && !runs(running_)) {
    return brick(fmt::format("it booted neither {} nor {}: {}", running_, new_version, *said));
  }
  if (!(outcome->new_image ? allowed.new_image : allowed.old_image)) {
    return brick(
        fmt::format("of {} and {} it booted the wrong one: {}", running_, new_version, *said));
  }
  if (auto kept = console_->ask("AT+CONFIRM"); !kept) {
    return brick("it could not be confirmed: " + kept.error().text());
  }
  const std::string second = next_version();
  const auto image = firmware_image(second, second_payload_bytes, board_id);
  if (auto lived = live(image, second, Stage::confirm, {}); !lived) {
    return brick("the second flash failed: " + lived.error().text());
  }
  running_ = second;
  return {};
}

// Until a record is whole, the one before it counts.
CutBench::Allowed CutBench::allowed_after(const WriteCut& cut) {
  const bool is_record =
      cut.stage != Stage::transfer && !(cut.stage == Stage::finish && !cut.erase && cut.index == 0);
  const bool none_of_it = !is_record || cut.erase || cut.bytes < record_checked_bytes;
  const bool all_of_it = !none_of_it && cut.bytes >= record_bytes;
  switch (cut.stage) {
    case Stage::finish:
    case Stage::confirm:
      return {!all_of_it, !none_of_it};
    case Stage::trial_boot:  // a trial that is noted has been had
      return {!none_of_it, !all_of_it};
    default:
      return {true, false};
  }
}

// The stage that was reached says that what the ones before it ask for was done.
CutBench::Allowed CutBench::allowed_after(Stage stage) {
  switch (stage) {
    case Stage::transfer:
    case Stage::revert_boot:
    case Stage::cold_boot:
      return {true, false};
    case Stage::finish:
    case Stage::trial_boot:
    case Stage::confirm:
      return {true, true};
    case Stage::idle:
      break;
  }
  return {false, true};
}

Result<CutOutcome> CutBench::run(const WriteCut& cut) {
  const std::string version = next_version();
  const auto image = firmware_image(version, cut.payload_bytes, board_id);
  bool armed = false;
  const auto arm = [&](Stage stage, std::uint64_t) {
    if (stage != cut.stage || armed) return;
    armed = true;
    control_->size = cut.erase ? erase_size : program_size;
    control_->let_through = cut.bytes;
    control_->writes_left = cut.index;
  };
  const Stage last = cut.stage == Stage::revert_boot ? cut.stage : Stage::confirm;
  const auto lived = live(image, version, last, arm);
  if (lived || lived.error().kind != ErrorKind::cancelled) {
    return lived ? fail(ErrorKind::usage, "no such write to cut") : std::unexpected(lived.error());
  }
  CutOutcome outcome = end_life(cut.stage);
  if (!outcome.in_write || outcome.in_erase != cut.erase) {
    return fail(ErrorKind::usage, "another write was cut");
  }
  if (auto back = recover(version, allowed_after(cut), &outcome); !back) {
    return std::unexpected(back.error());
  }
  return outcome;
}

Result<CutOutcome> CutBench::run(const TimedCut& cut) {
  const std::string version = next_version();
  const auto image = firmware_image(version, cut.payload_bytes, board_id);
  Stage reached = Stage::idle;
  std::jthread executioner;
  const auto aim = [&](Stage stage, std::uint64_t bytes) {
    if (stage != cut.stage || executioner.joinable()) return;
    std::int64_t wait_ns = cut.more_ns;
    if (stage == Stage::transfer) {
      if (static_cast<double>(bytes) < cut.part * static_cast<double>(image.size())) return;
    } else {
      const std::int64_t usual = stage_ns_[static_cast<std::size_t>(stage)];
      wait_ns += static_cast<std::int64_t>(cut.part * static_cast<double>(usual));
    }
    executioner = std::jthread([this, wait_ns, &reached] {
      sleep_ns(wait_ns);
      board_->cut();
      reached = stage_;
    });
  };
  const Stage last =
      cut.stage == Stage::revert_boot || cut.stage == Stage::cold_boot ? cut.stage : Stage::confirm;
  const auto lived = live(image, version, last, aim);
  if (!lived && lived.error().kind != ErrorKind::cancelled) return std::unexpected(lived.error());
  // It may have lived longer than usual.
  if (executioner.joinable()) executioner.join();
  CutOutcome outcome = end_life(reached);
  Allowed allowed = allowed_after(reached);
  if (reached == Stage::idle && last != Stage::confirm) allowed = {true, false};
  for (; outcome.boots_cut < cut.boots_cut; ++outcome.boots_cut) {
    // A trial that is cut off has been had.
    if (allowed.new_image && reached != Stage::idle) allowed.old_image = true;
    executioner = std::jthread([this, usual = stage_ns_[static_cast<std::size_t>(Stage::cold_boot)],
                                part = static_cast<double>(random_() % 1000) / 900] {
      sleep_ns(static_cast<std::int64_t>(part * static_cast<double>(usual)));
      board_->cut();
    });
    (void)boot();
    executioner.join();
    (void)end_life(reached);
  }
  if (auto back = recover(version, allowed, &outcome); !back) return std::unexpected(back.error());
  return outcome;
}

}  // namespace assay::test
