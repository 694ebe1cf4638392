#include "firmware/device/host/line.h"

#include <termios.h>
#include <unistd.h>

#include <cerrno>

namespace assay::firmware::device::host {

void Line::send(const std::uint8_t* bytes, std::size_t size) {
  if (fault_ == LineFault::silent) return;
  const bool damages = fault_ == LineFault::garbage || rates_differ();
  while (size > 0 && alive_) {
    std::uint8_t damaged[64];
    const std::uint8_t* chunk = bytes;
    std::size_t chunk_size = size;
    if (damages) {
      if (chunk_size > sizeof damaged) chunk_size = sizeof damaged;
      for (std::size_t i = 0; i < chunk_size; ++i) damaged[i] = damage(bytes[i]);
      chunk = damaged;
    }
    bytes += chunk_size;
    size -= chunk_size;
    while (chunk_size > 0 && alive_) {
      const ssize_t written = ::write(fd_, chunk, chunk_size);
      if (written >= 0) {
        chunk += written;
        chunk_size -= static_cast<std::size_t>(written);
      } else if (errno != EINTR) {
        alive_ = false;
      }
    }
  }
}

void Line::hear(std::uint8_t* bytes, std::size_t size) {
  if (!rates_differ()) return;
  for (std::size_t i = 0; i < size; ++i) bytes[i] = damage(bytes[i]);
}

bool Line::rates_differ() const {
  struct Rate {
    std::uint32_t baud;
    speed_t code;
  };
  static constexpr Rate rates[] = {
      {115200, B115200}, {230400, B230400}, {460800, B460800}, {921600, B921600}};
  termios settings{};
  // Both ends of a pseudo-terminal have the same settings; a pipe has none.
  if (baud_ == 0 || ::tcgetattr(fd_, &settings) != 0) return false;
  for (const Rate& rate : rates) {
    if (rate.baud == baud_) return ::cfgetospeed(&settings) != rate.code;
  }
  return true;
}

// xorshift32 (Marsaglia 2003): small, and never 0 from a seed that is not.
std::uint8_t Line::damage(std::uint8_t byte) {
  std::uint8_t flips = 0;
  while (flips == 0) {
    noise_ ^= noise_ << 13;
    noise_ ^= noise_ >> 17;
    noise_ ^= noise_ << 5;
    flips = static_cast<std::uint8_t>(noise_ >> 24);
  }
  return byte ^ flips;
}

}  // namespace assay::firmware::device::host
