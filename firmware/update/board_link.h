// The line to a board whose rate is to be found, and which goes away and comes back: with its
// power, with a reset, with the adapter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/clock.h"
#include "firmware/serial/at_client.h"
#include "firmware/serial/transport.h"

namespace assay::firmware {

using OpenPort = std::function<Result<std::unique_ptr<Transport>>()>;

struct LinkOptions {
  std::string query = "AT+NPUCFG?";
  std::vector<int> bauds = {115200};             // where the board may answer, not empty
  std::int64_t boot_timeout_ns = 30 * ns_per_s;  // until a board that was reset answers
  const CancelToken* cancel = nullptr;
};

// Errors of all calls: those of opening the port and of AtClient.
class BoardLink {
 public:
  // `open` is called again when the port has vanished.
  BoardLink(OpenPort open, LinkOptions options);

  Result<> open();
  // Of an open link, until a call below reopens it.
  Transport& transport() { return *transport_; }
  const std::string& port() const { return port_; }
  // Where the board answered last.
  int baud() const { return baud_; }
  // With the cancel token.
  const AtOptions& at() const { return at_; }

  // Finds the rate, and asks what runs. Each rate once, then each again: a board at the last one of
  // the list is found soon.
  Result<FirmwareVersion> find() { return find(at_); }
  // Resets the board. Both return when it answers again, at the rate of a fresh boot if it was
  // reset; a file that it still waits for the rest of is called off. ErrorKind::cancelled.
  Result<FirmwareVersion> reset();
  Result<FirmwareVersion> come_back();

 private:
  Result<FirmwareVersion> find(const AtOptions& options);

  OpenPort open_;
  LinkOptions options_;
  AtOptions at_;
  std::unique_ptr<Transport> transport_;
  std::string port_;
  int baud_ = 0;
};

}  // namespace assay::firmware
