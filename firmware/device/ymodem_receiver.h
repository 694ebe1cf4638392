// Receives one file by YMODEM (Forsberg, XMODEM/YMODEM Protocol Reference, 1988): CRC mode, blocks
// of 128 and 1024 bytes mixed as the sender likes. Freestanding; no clock of its own.
//
// A damaged, repeated, missing or made-up block never ends up in the file: blocks count only with
// their number and CRC, the file only with the length that was announced, and its end only when the
// sender says it twice.
#pragma once

#include <cstdint>

#include "firmware/device/at_server.h"

namespace assay::firmware::device {

// Where the file goes. A false ends the transfer.
struct FileSink {
  void* context;
  // `size` is what the sender announced; size_known false: it did not.
  bool (*begin)(void* context, const char* name, std::uint32_t size, bool size_known);
  bool (*data)(void* context, const std::uint8_t* bytes, std::uint32_t size);
};

class YmodemReceiver {
 public:
  enum class State : std::uint8_t {
    running,
    done,       // the whole file came
    cancelled,  // the sender gave up
    refused,    // the sink did, or the file has another length than announced
    failed,     // too many errors, or the sender is gone
    silent,     // nobody sent anything
  };

  YmodemReceiver(const Port& port, const FileSink& sink) : port_(port), sink_(sink) {}

  // Times are milliseconds of any origin; they may wrap.
  void start(std::uint32_t now_ms);
  State receive(std::uint8_t byte, std::uint32_t now_ms);
  // To be called at least each 100 ms while nothing comes.
  State tick(std::uint32_t now_ms);
  State state() const { return state_; }

 private:
  enum class Expect : std::uint8_t { header, data, last_header };

  void send(std::uint8_t byte) { port_.send(port_.context, &byte, 1); }
  void invite(std::uint32_t now_ms);
  void begin_block(std::uint8_t type);
  void end_block(std::uint32_t now_ms);
  void take_header(std::uint32_t now_ms);
  void take_data();
  void take_end(std::uint32_t now_ms);
  void error(bool silent_line, std::uint32_t now_ms);
  void stop(State state);

  static constexpr std::uint32_t most_data = 1024;

  Port port_;
  FileSink sink_;
  State state_ = State::running;
  Expect expect_ = Expect::header;
  std::uint8_t block_[most_data + 4];  // number, its complement, data, CRC
  std::uint32_t block_data_ = 0;       // 0: between blocks
  std::uint32_t block_have_ = 0;
  std::uint8_t next_number_ = 0;
  std::uint32_t left_ = 0;  // of the file
  bool size_known_ = false;
  bool any_data_ = false;
  bool end_seen_ = false;
  bool cancel_seen_ = false;
  bool draining_ = false;  // after an error: until the line is quiet
  std::uint32_t errors_ = 0;
  std::uint32_t invitations_ = 0;
  std::uint32_t last_byte_ms_ = 0;
  std::uint32_t last_sent_ms_ = 0;
  std::uint32_t last_good_ms_ = 0;  // a block that was whole
};

}  // namespace assay::firmware::device
