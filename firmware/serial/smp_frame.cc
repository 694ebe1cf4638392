#include "firmware/serial/smp_frame.h"

#include <openssl/evp.h>

#include <algorithm>

#include "firmware/device/checksum.h"

namespace assay::firmware {
namespace {

constexpr std::size_t line_characters = 124;
// Longer than any line of a peer; shorter than a boot log without line ends.
constexpr std::size_t max_line = 1024;
constexpr const char* first_marker = "\x06\x09";
constexpr const char* next_marker = "\x04\x14";

// Nothing when that is no base64.
std::optional<std::vector<std::uint8_t>> decode(const std::string& text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::vector<std::uint8_t> bytes(text.size() / 4 * 3);
  const int size =
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  // OpenSSL leaves the zeros of the padding in.
  const auto padding = static_cast<std::size_t>(
      std::count(text.end() - std::min<std::ptrdiff_t>(2, std::ssize(text)), text.end(), '='));
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

}  // namespace

std::string encode_smp_frame(std::span<const std::uint8_t> packet) {
  const std::uint16_t crc = device::crc16_xmodem(packet.data(), packet.size());
  const std::size_t length = packet.size() + 2;
  std::vector<std::uint8_t> frame{static_cast<std::uint8_t>(length >> 8),
                                  static_cast<std::uint8_t>(length)};
  frame.insert(frame.end(), packet.begin(), packet.end());
  frame.push_back(static_cast<std::uint8_t>(crc >> 8));
  frame.push_back(static_cast<std::uint8_t>(crc));
  std::string text((frame.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), frame.data(),
                                   static_cast<int>(frame.size()));
  text.resize(static_cast<std::size_t>(size));
  std::string lines;
  for (std::size_t at = 0; at < text.size(); at += line_characters) {
    lines += at == 0 ? first_marker : next_marker;
    lines += text.substr(at, line_characters);
    lines += '\n';
  }
  return lines;
}

std::optional<std::vector<std::uint8_t>> SmpFrameReader::feed(std::uint8_t byte) {
  if (byte == '\n') {
    auto packet = end_line();
    line_.clear();
    overlong_ = false;
    return packet;
  }
  if (byte == '\r') return std::nullopt;
  if (line_.size() == max_line) {
    overlong_ = true;
  } else {
    line_ += static_cast<char>(byte);
  }
  return std::nullopt;
}

std::optional<std::vector<std::uint8_t>> SmpFrameReader::end_line() {
  // A frame's line may stand behind text that had no line end of its own.
  const std::size_t first = line_.rfind(first_marker);
  const std::size_t next = line_.rfind(next_marker);
  if (first == std::string::npos && next == std::string::npos) return std::nullopt;
  const bool begins = first != std::string::npos;
  if (begins) {
    frame_.clear();
    open_ = true;
  }
  const auto bytes = decode(line_.substr((begins ? first : next) + 2));
  if (!open_ || overlong_ || !bytes || frame_.size() + bytes->size() > max_smp_packet + 4) {
    open_ = false;
    return std::nullopt;
  }
  frame_.insert(frame_.end(), bytes->begin(), bytes->end());
  if (frame_.size() < 2) return std::nullopt;
  const std::size_t wanted = static_cast<std::size_t>(frame_[0] << 8 | frame_[1]);
  if (frame_.size() < 2 + wanted) return std::nullopt;
  open_ = false;
  if (frame_.size() != 2 + wanted || wanted < 2 ||
      device::crc16_xmodem(frame_.data() + 2, wanted) != 0) {
    return std::nullopt;
  }
  return std::vector<std::uint8_t>(frame_.begin() + 2, frame_.end() - 2);
}

}  // namespace assay::firmware
