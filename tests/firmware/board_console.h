// What a person does at a board's serial port: asks, flashes, resets, reads what the boot says.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "firmware/serial/at_client.h"
#include "firmware/serial/transport.h"
#include "firmware/serial/ymodem_sender.h"

namespace assay::test {

class BoardConsole {
 public:
  // What came over the port before is not read. Cancelled, `cancel` ends whatever goes on; it
  // outlives the console.
  static Result<std::unique_ptr<BoardConsole>> open(const std::string& port,
                                                    const CancelToken* cancel = nullptr);

  // The answer's lines; ErrorKind::protocol when it was ERROR.
  Result<std::vector<std::string>> ask(const std::string& command);
  Result<std::string> version();

  // Reads until the boot has said what it booted: "boot: slot 0 1.2.3 on trial".
  Result<std::string> read_boot();
  // Resets, and reads the boot.
  Result<std::string> reset();

  // AT+UPDATE and the file. What the board says of it: "OK", "HASH", ...
  Result<std::string> flash(const std::vector<std::uint8_t>& image,
                            std::function<void(std::uint64_t)> on_progress = {});

 private:
  BoardConsole(std::unique_ptr<firmware::Transport> transport, const CancelToken* cancel);

  // Without reading anything.
  Result<> write_line(const std::string& command);

  std::unique_ptr<firmware::Transport> transport_;
  const CancelToken* cancel_;
  std::optional<firmware::AtClient> client_;
};

}  // namespace assay::test
