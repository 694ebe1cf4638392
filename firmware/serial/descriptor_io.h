// What both serial backends do with their file descriptor: wait, read, write, lock, and say in
// plain words why it did not work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "base/result.h"

namespace assay::firmware {

// Transport::read, write and discard_input, on a non-blocking terminal.
Result<std::size_t> read_some(int fd, std::span<std::uint8_t> buffer, std::int64_t deadline_ns,
                              const std::string& name);
Result<> write_all(int fd, std::span<const std::uint8_t> bytes, std::int64_t deadline_ns,
                   const std::string& name);
Result<> drop_input(int fd, const std::string& name);

// Keeps other programs out while the port is open: flock for those that ask (also as root),
// TIOCEXCL for those that do not; a port that another holds by either is in use. The flock ends
// with the descriptor; TIOCEXCL would stay for as long as anyone has the port open, so
// unlock_port() before closing.
Result<> lock_port(int fd, const std::string& name);
void unlock_port(int fd);

// The error for open(2) of a port; names the group that may open it when permission is missing.
std::unexpected<Error> open_failure(int error_number, const std::string& path);
// The error for an operation on an open port: vanished for what the kernel says after an unplug.
std::unexpected<Error> port_failure(int error_number, const std::string& operation,
                                    const std::string& name);

}  // namespace assay::firmware
