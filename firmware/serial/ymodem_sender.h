// Sends a file by YMODEM-1K (Forsberg 1988), or by XMODEM-1K to receivers that know no batches.
// Copes with receivers as they are: lrzsz's, U-Boot's (which answers 'C' for a damaged block and
// ACKs an EOT twice), and the reference firmware's.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/result.h"
#include "firmware/serial/transport.h"

namespace assay::firmware {

enum class XyModem { ymodem, xmodem_1k };

struct ModemOptions {
  XyModem protocol = XyModem::ymodem;
  std::int64_t start_timeout_ns = 60 * ns_per_s;   // for the receiver's first 'C'
  std::int64_t answer_timeout_ns = 10 * ns_per_s;  // for the answer to a block
  int tries = 10;                                  // of each block
  // What the receiver has said already, of which its first 'C' may be: the last 256 bytes count.
  std::string received = {};
  const CancelToken* cancel = nullptr;  // looked at each 50 ms; the receiver is told
  // Bytes that the receiver has acknowledged.
  std::function<void(std::uint64_t sent)> on_progress;
};

// `name` is 1..100 printable ASCII characters without '/'. Errors, `where` being the port:
//   usage      the name, or more than 4 GiB
//   timeout    the receiver did not ask, or stopped answering
//   protocol   it gave up, answered each try with NAK, or takes no batches: it acknowledged the
//              header and asked for nothing behind it
//   vanished   the port went away
//   cancelled  options.cancel said so
Result<> send_file(Transport& transport, const std::string& name,
                   std::span<const std::uint8_t> content, const ModemOptions& options = {});

}  // namespace assay::firmware
