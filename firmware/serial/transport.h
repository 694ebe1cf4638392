// A stream of bytes to a board: a real serial port, or a pseudo-terminal with a virtual board
// behind it. One owner at a time; a Transport belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace assay::firmware {

// Deadlines are of base/clock.h's monotonic_ns(); one in the past means "only what is there".
// Every error's `where` is name().
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // Returns as soon as there are bytes, with how many (1..buffer.size()). ErrorKind::timeout when
  // none came, ErrorKind::vanished when the port was unplugged or hung up. `buffer` is not empty.
  virtual Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t deadline_ns) = 0;

  // All of it, or an error, of the kinds that read() has: what part went out is not known then.
  virtual Result<> write(std::span<const std::uint8_t> bytes, std::int64_t deadline_ns) = 0;

  // Drops what has arrived and was not read.
  virtual Result<> discard_input() = 0;

  // Takes effect at once. ErrorKind::usage when the port cannot do that rate.
  virtual Result<> set_baud(int baud) = 0;

  // The path that it was opened by.
  virtual const std::string& name() const = 0;
};

// Opens `path` raw, 8 data bits, no parity, one stop bit, no flow control. Pseudo-terminals
// (/dev/pts/*, also through symbolic links) take termios alone, all else libserialport.
// ErrorKind::unavailable: no such port, no permission, in use by another program.
// ErrorKind::usage: not a serial port (a file, a folder), or a rate that the port cannot do.
Result<std::unique_ptr<Transport>> open_transport(const std::string& path, int baud);

}  // namespace assay::firmware
