// A whole board of the reference firmware in QEMU: the bare-metal binary in its first flash chip,
// records, slots and identification in the second, its UART behind a serial_bridge.h. Power goes by
// SIGKILL: what the chips' files hold by then is what is left.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "tests/firmware/serial_bridge.h"

namespace assay::test {

struct QemuBoardSettings {
  std::string board = "reference";
  std::string serial = "M6-0000-000000";
  std::string rom_version = "0.0.1-rom";
  int baud = 0;                          // of the cable; 0: as fast as it goes
  std::vector<std::string> environment;  // of QEMU, beside this process's: "NAME=value"
};

class QemuBoard {
 public:
  // Makes the chips' files in `folder`, which stays longer than the board; their content from
  // before stays too. The second chip is locked, which QEMU does not do by itself.
  static Result<std::unique_ptr<QemuBoard>> make(const std::string& folder,
                                                 const QemuBoardSettings& settings = {});
  ~QemuBoard();
  QemuBoard(const QemuBoard&) = delete;
  QemuBoard& operator=(const QemuBoard&) = delete;

  // What the tool opens; also while the power is off.
  const std::string& port() const { return bridge_->path(); }
  std::string flash_path() const { return folder_ + "/flash1"; }

  // Returns when QEMU has been started. It dies with the thread that called this.
  Result<> power_on();
  // Until the board has said something. An error, with QEMU's own words, when it ended or is
  // silent.
  Result<> wait_until_up();
  // Returns when it is gone.
  void power_off();

  // The power goes now. From any thread; power_off() must follow.
  void cut();
  // Whether QEMU ended by itself, or was cut, by the deadline.
  bool wait_until_dead(std::int64_t deadline_ns);

  // Whether none of QEMU's threads runs at the moment.
  bool sleeps() const;

 private:
  QemuBoard(std::string folder, QemuBoardSettings settings, UniqueFd flash,
            std::unique_ptr<SerialBridge> bridge);
  std::vector<std::string> command_line(int uart) const;

  std::string folder_;
  QemuBoardSettings settings_;
  UniqueFd flash_;  // holds the lock
  std::unique_ptr<SerialBridge> bridge_;
  std::atomic<pid_t> pid_ = -1;
};

}  // namespace assay::test
