// Frames of the management protocol SMP on a serial console: a packet with its length in front and
// its CRC-16/XMODEM behind, in lines of base64 that begin with 06 09 (the first) or 04 14 (the
// rest) and end with LF. Other text may stand between the lines. Does no I/O; bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay::firmware {

inline constexpr std::size_t max_smp_packet = 16 << 10;

// At most max_smp_packet bytes. Lines of at most 127 bytes.
std::string encode_smp_frame(std::span<const std::uint8_t> packet);

class SmpFrameReader {
 public:
  // The packet that the byte completes.
  std::optional<std::vector<std::uint8_t>> feed(std::uint8_t byte);

 private:
  std::optional<std::vector<std::uint8_t>> end_line();

  std::string line_;
  bool overlong_ = false;
  std::vector<std::uint8_t> frame_;
  bool open_ = false;
};

}  // namespace assay::firmware
