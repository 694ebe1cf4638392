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
  // `baud` is the rate of the firmware's UART; 0: the rate makes no difference.
  Line(int fd, LineFault fault, std::uint32_t baud) : fd_(fd), fault_(fault), baud_(baud) {}

  // As a UART hears the other side's rate wrong, so are the bytes damaged, both ways. The other
  // side's rate is that of the terminal.
  void set_baud(std::uint32_t baud) {
    if (baud_ != 0) baud_ = baud;
  }

  // Blocks until all is written.
  void send(const std::uint8_t* bytes, std::size_t size);
  // What arrives, as the UART hears it.
  void hear(std::uint8_t* bytes, std::size_t size);
  // False once a write has failed: nobody is there to hear the rest.
  bool alive() const { return alive_; }

 private:
  std::uint8_t damage(std::uint8_t byte);
  bool rates_differ() const;

  int fd_;
  LineFault fault_;
  std::uint32_t baud_;
  bool alive_ = true;
  std::uint32_t noise_ = 0x4D36'0417;
};

}  // namespace assay::firmware::device::host
