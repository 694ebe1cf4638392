// The management protocol SMP over a serial console, as MCUboot's serial recovery and Zephyr's
// MCUmgr speak it: frames of base64 in lines that begin with 06 09 (the first) and 04 14 (the
// rest) and end with LF; CRC-16/XMODEM over the packet; CBOR inside. It shares the line with the AT
// commands: no AT line begins with these bytes.
//
//   OS group 0:     echo (0), reset (5), parameters (6)
//   image group 1:  state (0): read, and write {"hash", "confirm"}; upload (1)
//
// An upload that broke off goes on where it was: the answer's "off" says where.
//
// Freestanding. Not thread-safe.
#pragma once

#include <cstdint>

#include "firmware/device/at_server.h"
#include "firmware/device/cbor.h"
#include "firmware/device/slots.h"

namespace assay::firmware::device {

class SmpServer {
 public:
  // Of a packet: header and CBOR. An upload of 1.5 KiB at a time fits.
  static constexpr std::uint32_t packet_bytes = 2048;

  SmpServer(const Port& port, Slots& slots) : port_(port), slots_(slots) {}

  // True when the byte belonged to a frame and is nobody else's.
  bool receive(std::uint8_t byte);
  // A reset was ordered, and the answer has been sent.
  bool wants_reset() const { return wants_reset_; }

 private:
  // mcumgr's error codes.
  enum class Rc : std::uint8_t {
    ok = 0,
    unknown = 1,
    invalid = 3,
    no_entry = 5,
    not_supported = 8
  };

  void end_line();
  void take_character(std::uint8_t character);
  void take_packet(std::uint32_t size);
  void answer(std::uint32_t size);
  void answer_rc(Rc rc);
  void echo();
  void parameters();
  void say_images();
  void set_state();
  void upload();

  // Of the packet that is answered.
  CborReader body() const { return {packet_ + header_bytes, body_bytes_}; }
  CborWriter writer() { return {answer_ + header_bytes, packet_bytes - header_bytes}; }

  static constexpr std::uint32_t header_bytes = 8;

  enum class State : std::uint8_t { idle, first_marker, next_marker, text };

  Port port_;
  Slots& slots_;
  State state_ = State::idle;
  // The frame so far, unfolded: length, packet, CRC.
  std::uint8_t frame_[2 + packet_bytes + 2];
  std::uint32_t frame_bytes_ = 0;
  std::uint32_t bits_ = 0;  // of base64 that are no whole byte yet
  std::uint8_t bit_count_ = 0;
  bool damaged_ = true;  // until a first line begins
  const std::uint8_t* packet_ = frame_ + 2;
  std::uint32_t body_bytes_ = 0;
  std::uint8_t answer_[packet_bytes];
  std::uint8_t upload_sha_[32] = {};
  std::uint32_t upload_bytes_ = 0;
  std::uint32_t upload_number_ = 0;  // of the slots' updates
  bool wants_reset_ = false;
};

}  // namespace assay::firmware::device
