// A board whose life can be cut off: flash, boot on trial, confirm; and what has to hold
// afterwards.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "tests/end_to_end/power_cut/cut_control.h"
#include "tests/firmware/board_console.h"
#include "tests/firmware/qemu_board.h"

namespace assay::test {

// What the board does when the power goes.
enum class Stage { transfer, finish, trial_boot, confirm, revert_boot, cold_boot, idle };
inline constexpr std::size_t stages = 7;
const char* to_text(Stage stage);

// A cut inside one write to the flash chip.
struct WriteCut {
  Stage stage;
  bool erase;           // of a sector; false: a program
  int index;            // among those of its kind in that stage
  std::uint64_t bytes;  // that still reach the chip
  std::uint32_t payload_bytes = 4'000;
};

// A cut at a point in time.
struct TimedCut {
  Stage stage;
  double part;           // of the stage's usual duration; for a transfer, of the image
  std::int64_t more_ns;  // behind that
  std::uint32_t payload_bytes;
  int boots_cut;  // power goes again in as many boots after it
};

struct CutOutcome {
  Stage stage = Stage::idle;
  bool in_write = false;   // the chip was being written
  bool in_erase = false;   // a sector of it
  bool in_record = false;  // where the boot records are
  int boots_cut = 0;       // after it, before the one that was let through
  bool new_image = false;  // what ran then
};

class CutBench {
 public:
  // Makes a board in `folder` that runs an image, confirmed.
  static Result<std::unique_ptr<CutBench>> make(const std::string& folder, unsigned seed);
  ~CutBench();
  CutBench(const CutBench&) = delete;
  CutBench& operator=(const CutBench&) = delete;

  // Lets the board live until it is cut, gives it power again, and looks: it boots an image that it
  // may boot, and takes another one. ErrorKind::protocol when not: a brick. Other errors are the
  // bench's own.
  Result<CutOutcome> run(const WriteCut& cut);
  Result<CutOutcome> run(const TimedCut& cut);

  // Bytes of images over the line, by the time that they took.
  double bytes_per_second() const;

 private:
  // What may run after a cut.
  struct Allowed {
    bool old_image;
    bool new_image;
  };
  // Told when a stage begins, and in a transfer the bytes that the board has taken.
  using Watch = std::function<void(Stage, std::uint64_t bytes)>;

  CutBench(std::string folder, unsigned seed) : folder_(std::move(folder)), random_(seed) {}
  Result<> set_up();
  static Allowed allowed_after(const WriteCut& cut);
  static Allowed allowed_after(Stage stage);

  // From power-on; the line that the boot says.
  Result<std::string> boot();
  void power_off();
  Result<> flash_and_try(const std::vector<std::uint8_t>& image, const std::string& version,
                         const Watch& watch);
  // From an update to its confirmation, or to the boot that takes it back; or a boot alone.
  Result<> live(const std::vector<std::uint8_t>& image, const std::string& version, Stage last,
                const Watch& watch);
  // The power is off; what an interrupted erase leaves behind.
  CutOutcome end_life(Stage stage);
  Result<> recover(const std::string& new_version, Allowed allowed, CutOutcome* outcome);
  void enter(Stage stage, const Watch& watch, std::uint64_t bytes = 0);
  std::string next_version();

  std::string folder_;
  std::mt19937 random_;
  UniqueFd flash_file_;
  CutControl* control_ = nullptr;
  std::unique_ptr<QemuBoard> board_;
  std::unique_ptr<CancelToken> dead_;
  std::unique_ptr<BoardConsole> console_;
  std::jthread watcher_;  // cancels when the board is dead
  std::atomic<Stage> stage_ = Stage::idle;
  std::int64_t stage_began_ns_ = 0;
  std::array<std::int64_t, stages> stage_ns_{};  // the last whole one of each
  std::string running_;
  int versions_ = 0;
  std::uint64_t line_bytes_ = 0;
  std::int64_t line_ns_ = 0;
};

}  // namespace assay::test
