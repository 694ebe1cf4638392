// The reference firmware as a process behind a pseudo-terminal: the board's end of the UART.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace assay::station {

class FirmwareProcess {
 public:
  struct Options {
    std::string board;  // whose images it takes
    std::string chip;   // its flash, a file
    std::string serial;
    std::string line_fault;          // "", "silent", "garbage"
    std::uint32_t cut_power_at = 0;  // bytes that come in; 0: never
  };

  // Errors: unavailable when the program is not beside this one.
  static Result<FirmwareProcess> start(const Options& options);
  FirmwareProcess(FirmwareProcess&& other) noexcept;
  FirmwareProcess& operator=(FirmwareProcess&&) = delete;
  ~FirmwareProcess();

  // The terminal that stands for the serial port.
  const std::string& port() const { return port_; }

 private:
  FirmwareProcess(pid_t pid, UniqueFd held_open, std::string port)
      : pid_(pid), held_open_(std::move(held_open)), port_(std::move(port)) {}

  pid_t pid_;
  // The slave side stays open: without any, the firmware would see a hang-up between two clients.
  UniqueFd held_open_;
  std::string port_;
};

}  // namespace assay::station
