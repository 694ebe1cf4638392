// A pseudo-terminal, and the reference firmware's process behind one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"

namespace assay::firmware {

struct PseudoTerminal {
  PseudoTerminal();

  UniqueFd master;
  UniqueFd slave;  // kept open: with nobody at the slave the master hangs up
  std::string path;
};

// The process owns the master alone: when it ends, the port is gone, as with an adapter pulled out.
class FirmwareProcess {
 public:
  explicit FirmwareProcess(std::vector<std::string> arguments);
  ~FirmwareProcess() { kill(); }

  const std::string& path() const { return terminal_.path; }
  // Waits until something that it said can be read; leaves it there.
  bool wait_for_output();
  // Returns when it does not run any more, but may be continued.
  void stop();
  // Returns when it is gone.
  void kill();

 private:
  PseudoTerminal terminal_;
  pid_t pid_ = -1;
};

// Starts the firmware with these descriptors as its UART.
pid_t spawn_firmware(const std::vector<std::string>& arguments, int input, int output);

// Runs the firmware with a pipe as its UART and `input` in it; what it wrote, and its exit code.
struct Outcome {
  int exit_code;
  std::string output;
};
Outcome run_firmware(const std::vector<std::string>& arguments, const std::string& input);

}  // namespace assay::firmware
