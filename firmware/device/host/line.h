// The wire between the firmware and whoever listens, and what can be wrong with it. Faults sit
// here, where the hardware ends: the firmware itself runs as it does on a good board.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::firmware::device::host {

enum class LineFault {
  none,
  silent,   // nothing that is sent arrives
  garbage,  // every byte has bits flipped, as at a wrong baud rate; the same ones in each run
};

class Line {
 public:
  Line(int fd, LineFault fault) : fd_(fd), fault_(fault) {}

  // Blocks until all is written.
  void send(const std::uint8_t* bytes, std::size_t size);
  // False once a write has failed: nobody is there to hear the rest.
  bool alive() const { return alive_; }

 private:
  std::uint8_t damage(std::uint8_t byte);

  int fd_;
  LineFault fault_;
  bool alive_ = true;
  std::uint32_t noise_ = 0x4D36'0417;
};

}  // namespace assay::firmware::device::host
