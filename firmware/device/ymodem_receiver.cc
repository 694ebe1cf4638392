#include "firmware/device/ymodem_receiver.h"

#include "firmware/device/checksum.h"
#include "firmware/device/ymodem_protocol.h"

namespace assay::firmware::device {
namespace {

using namespace ymodem;

constexpr std::uint32_t invite_ms = 1000;
constexpr std::uint32_t most_invitations = 60;
constexpr std::uint32_t byte_ms = 1000;    // inside a block
constexpr std::uint32_t block_ms = 10000;  // for the next one to begin
constexpr std::uint32_t quiet_ms = 200;    // of a line after an error
constexpr std::uint32_t most_errors = 10;
// Without anything that belongs to a transfer: its sender is gone. Bytes alone are no sign of one:
// they may be those of a host that has been started anew and asks who is there.
constexpr std::uint32_t gone_ms = 30000;

}  // namespace

void YmodemReceiver::start(std::uint32_t now_ms) {
  state_ = State::running;
  expect_ = Expect::header;
  block_data_ = 0;
  any_data_ = false;
  end_seen_ = false;
  cancel_seen_ = false;
  draining_ = false;
  errors_ = 0;
  invitations_ = 0;
  last_byte_ms_ = now_ms;
  last_good_ms_ = now_ms;
  invite(now_ms);
}

void YmodemReceiver::invite(std::uint32_t now_ms) {
  ++invitations_;
  send('C');
  last_sent_ms_ = now_ms;
}

YmodemReceiver::State YmodemReceiver::receive(std::uint8_t byte, std::uint32_t now_ms) {
  if (state_ != State::running) return state_;
  last_byte_ms_ = now_ms;
  // The rest of a damaged block is thrown away unread: a byte in it that looks like a start is
  // none.
  if (draining_) return state_;
  if (block_data_ != 0) {
    block_[block_have_++] = byte;
    if (block_have_ == block_data_ + 4) end_block(now_ms);
    return state_;
  }
  // One CAN alone is noise.
  const bool second_cancel = byte == can && cancel_seen_;
  cancel_seen_ = byte == can;
  if (second_cancel) {
    state_ = State::cancelled;
  } else if (byte == soh || byte == stx) {
    begin_block(byte);
  } else if (byte == eot && expect_ != Expect::header) {
    take_end(now_ms);
  }
  return state_;
}

YmodemReceiver::State YmodemReceiver::tick(std::uint32_t now_ms) {
  if (state_ != State::running) return state_;
  const std::uint32_t quiet = now_ms - last_byte_ms_;
  if (expect_ == Expect::data && now_ms - last_good_ms_ >= gone_ms) {
    stop(State::failed);
    return state_;
  }
  if (draining_) {
    if (quiet < quiet_ms) return state_;
    draining_ = false;
    send(nak);
    last_sent_ms_ = now_ms;
  } else if (block_data_ != 0) {
    if (quiet >= byte_ms) error(true, now_ms);
  } else if (expect_ != Expect::data) {
    if (now_ms - last_sent_ms_ < invite_ms || quiet < quiet_ms) return state_;
    if (expect_ == Expect::last_header && invitations_ >= 5) {
      // The file is whole; the sender does not know of batches.
      state_ = State::done;
    } else if (invitations_ >= most_invitations) {
      state_ = State::silent;
    } else {
      invite(now_ms);
    }
  } else if (quiet >= block_ms && now_ms - last_sent_ms_ >= block_ms) {
    error(true, now_ms);
  }
  return state_;
}

void YmodemReceiver::begin_block(std::uint8_t type) {
  block_data_ = type == soh ? 128 : most_data;
  block_have_ = 0;
  cancel_seen_ = false;
}

void YmodemReceiver::end_block(std::uint32_t now_ms) {
  const std::uint32_t size = block_data_;
  const std::uint8_t number = block_[0];
  const std::uint16_t crc = static_cast<std::uint16_t>(block_[2 + size] << 8 | block_[3 + size]);
  const bool whole =
      static_cast<std::uint8_t>(~block_[1]) == number && crc16_xmodem(block_ + 2, size) == crc;
  if (!whole) return error(false, now_ms);
  last_good_ms_ = now_ms;
  end_seen_ = false;
  last_sent_ms_ = now_ms;
  if (expect_ != Expect::data) {
    block_data_ = 0;
    // Before the header nothing but a header can be; behind the file a late repetition of its last
    // block may be.
    if (number == 0) {
      take_header(now_ms);
    } else if (expect_ == Expect::last_header) {
      send(ack);
    } else {
      error(false, now_ms);
    }
    return;
  }
  if (number == next_number_) {
    take_data();
  } else if (number == static_cast<std::uint8_t>(next_number_ - 1)) {
    // The sender has not heard the ACK.
    send(ack);
    if (!any_data_) send('C');
  } else {
    // A block is missing for good: nothing that comes can make the file right.
    stop(State::failed);
  }
  block_data_ = 0;
}

// "name\0size mtime mode ...", decimal size; an empty name ends the batch.
void YmodemReceiver::take_header(std::uint32_t now_ms) {
  const std::uint8_t* const text = block_ + 2;
  const std::uint32_t end = 128;
  if (expect_ == Expect::last_header) {
    // A second file is not wanted; the first one is whole.
    if (text[0] == 0) {
      send(ack);
      state_ = State::done;
    } else {
      stop(State::done);
    }
    return;
  }
  std::uint32_t at = 0;
  while (at < end && text[at] != 0) ++at;
  if (at == 0 || at == end) return stop(at == 0 ? State::cancelled : State::refused);
  std::uint64_t size = 0;
  size_known_ = false;
  for (++at; at < end && text[at] >= '0' && text[at] <= '9' && size <= UINT32_MAX; ++at) {
    size = size * 10 + (text[at] - '0');
    size_known_ = true;
  }
  if (size > UINT32_MAX || !sink_.begin(sink_.context, reinterpret_cast<const char*>(text),
                                        static_cast<std::uint32_t>(size), size_known_)) {
    return stop(State::refused);
  }
  left_ = static_cast<std::uint32_t>(size);
  next_number_ = 1;
  errors_ = 0;
  expect_ = Expect::data;
  send(ack);
  invite(now_ms);
}

void YmodemReceiver::take_data() {
  std::uint32_t size = block_data_;
  if (size_known_) {
    // The last block is filled up; one behind it belongs to no file.
    if (left_ == 0) return stop(State::refused);
    if (size > left_) size = left_;
    left_ -= size;
  }
  if (!sink_.data(sink_.context, block_ + 2, size)) return stop(State::refused);
  any_data_ = true;
  ++next_number_;
  errors_ = 0;
  send(ack);
}

// An EOT is one byte without a check: only a second one, asked for, counts.
void YmodemReceiver::take_end(std::uint32_t now_ms) {
  last_sent_ms_ = now_ms;
  if (expect_ == Expect::last_header) {
    send(ack);
    return;
  }
  if (!end_seen_) {
    end_seen_ = true;
    send(nak);
    return;
  }
  if (size_known_ && left_ > 0) return stop(State::refused);
  expect_ = Expect::last_header;
  invitations_ = 0;
  send(ack);
  invite(now_ms);
}

void YmodemReceiver::error(bool silent_line, std::uint32_t now_ms) {
  block_data_ = 0;
  if (++errors_ > most_errors) return stop(State::failed);
  if (silent_line) {
    send(nak);
    last_sent_ms_ = now_ms;
  } else {
    draining_ = true;
  }
}

void YmodemReceiver::stop(State state) {
  state_ = state;
  for (int i = 0; i < cancel_bytes; ++i) send(can);
  for (int i = 0; i < cancel_bytes; ++i) send(backspace);
}

}  // namespace assay::firmware::device
