// Asks a board over its serial port. Copes with echo or none, boot messages and noise before the
// answer, half a line that another program left in the board's buffer, and silence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/semver.h"
#include "firmware/serial/at_parser.h"
#include "firmware/serial/transport.h"

namespace assay::firmware {

struct AtOptions {
  std::int64_t timeout_ns = ns_per_s;  // of each try
  int tries = 3;                       // at least 1
  // The board may wait for the rest of a file whose sender is gone: it is told so before the first
  // try too, not only before later ones.
  bool end_transfer = false;
  const CancelToken* cancel = nullptr;
};

struct AtReply {
  bool ok = false;  // the final result was OK, not ERROR
  std::vector<std::string> lines;
};

struct FirmwareVersion {
  SemanticVersion version;
  std::string text;  // as the board wrote it
  int baud = 0;      // where it answered; 0 when the caller had set the rate
};

// Errors of all calls, `where` being the port:
//   timeout      not one byte came
//   protocol     bytes came, but no reply could be made out of them
//   unavailable  query_version(): the board answers ERROR, this firmware does not know the query
//   vanished     the port went away
//   cancelled    options.cancel said so (looked at every 50 ms)
class AtClient {
 public:
  // The transport outlives the client.
  explicit AtClient(Transport& transport) : transport_(transport) {}

  const std::string& port() const { return transport_.name(); }

  // Sends one command and returns its reply, be it OK or ERROR. ErrorKind::usage when `text` is not
  // 1..127 printable ASCII characters.
  Result<AtReply> command(std::string_view text, const AtOptions& options = {});

  // What was read behind the last reply's final result: the first words of what comes next, such as
  // the 'C' of a receiver that the command has started. At most 512 bytes.
  const std::string& behind() const { return behind_; }

  // Sends `query` and reads the version behind "FW_VER:". Takes it also from a board that sends no
  // OK behind it; a reply without it is tried again, and then an ErrorKind::protocol, or
  // ErrorKind::unavailable when it was ERROR.
  Result<FirmwareVersion> query_version(std::string_view query = "AT+NPUCFG?",
                                        const AtOptions& options = {});

 private:
  using Accept = bool (*)(const AtParser&);

  Result<AtReply> exchange(std::string_view text, const AtOptions& options, Accept accept);
  Result<> attempt(std::string_view text, const AtOptions& options, bool end_transfer,
                   AtParser* parser);
  Result<> get_in_step(bool end_transfer, const CancelToken* cancel);
  Result<std::size_t> read_until(std::span<std::uint8_t> buffer, std::int64_t deadline_ns,
                                 const CancelToken* cancel);

  Transport& transport_;
  std::string behind_;
  // Whether the board waits for a new command and nothing else is on its way from it.
  bool in_step_ = false;
};

// Of two that no board was found by: ErrorKind::unavailable says more than ErrorKind::protocol, and
// that more than ErrorKind::timeout.
bool says_more(const Error& error, const Error& than);
// Whether the board may answer when it is asked again, or at another rate: the three of
// says_more().
bool is_no_answer(const Error& error);

// query_version() at each rate in turn until one gives a version. When none does, the error of the
// rate that said most: says_more().
Result<FirmwareVersion> query_version_at_bauds(Transport& transport, const std::vector<int>& bauds,
                                               std::string_view query = "AT+NPUCFG?",
                                               const AtOptions& options = {});

}  // namespace assay::firmware
