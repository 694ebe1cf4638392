// Brings a board from one firmware to another over its serial port, as a state machine:
//
//   ask -> guards -> raise the rate -> transfer -> reset -> read the version back -> confirm
//
// The board keeps its old image until the new one has been confirmed, and that is done only when
// the board answers with the new version. A transfer that breaks off (power, noise, the adapter
// pulled out) begins again from the top, as often as `tries` allows; the board then still runs the
// old image.
//
// References: MCUboot's design (test, confirm, revert), fwupd (guards before, outcome read back).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/clock.h"
#include "firmware/update/board_link.h"
#include "firmware/update/guards.h"

namespace assay::firmware {

enum class UpdatePhase { ask, transfer, reset, confirm };
const char* to_text(UpdatePhase phase);

enum class UpdateProtocol {
  ymodem,  // AT+UPDATE; XMODEM-1K when the receiver takes no batches
  smp,     // MCUmgr's, on the same line; goes on where it broke off
};

struct UpdateOptions {
  UpdateProtocol protocol = UpdateProtocol::ymodem;
  std::string query = "AT+NPUCFG?";
  std::vector<int> bauds = {115200};  // where the board may answer, not empty
  int transfer_baud = 0;              // for the transfer, when the board can; 0: as found
  ImagePolicy image;
  UpdatePolicy board;
  int tries = 3;                                 // of the transfer
  std::int64_t boot_timeout_ns = 30 * ns_per_s;  // until a board that was reset answers
  const CancelToken* cancel = nullptr;
  // Called with each board that answers, before the guards: a port that comes back may be
  // another's. ErrorKind::usage: this is not the board.
  std::function<Result<>(AtClient& board, const AtOptions& options)> check_identity;
  // `done` of `total` bytes, in UpdatePhase::transfer; 0 of 0 elsewhere.
  std::function<void(UpdatePhase, std::uint64_t done, std::uint64_t total)> on_progress;
  // Something a person would want to know later: a transfer that broke off.
  std::function<void(const std::string&)> on_note;
};

struct UpdateOutcome {
  std::string from;           // the version that ran before
  std::string to;             // that runs now
  bool same_version = false;  // nothing was to be done
  unsigned interruptions = 0;
  int baud = 0;  // of the transfer
  std::uint64_t bytes = 0;
  std::int64_t transfer_ns = 0;  // of the transfer that succeeded
};

// `open` is called again when the port has vanished. Errors: those of the guards, of the port and
// of the board's client; usage when the board refused the image, protocol when it went back to the
// old one.
Result<UpdateOutcome> update_board(const OpenPort& open, const FirmwareImage& image,
                                   const UpdateOptions& options);

}  // namespace assay::firmware
