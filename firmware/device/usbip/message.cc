#include "firmware/device/usbip/message.h"

#include <algorithm>

namespace assay::firmware::device::usbip {
namespace {

constexpr std::uint32_t command_submit = 1;
constexpr std::uint32_t command_unlink = 2;
constexpr std::uint32_t return_submit = 3;
constexpr std::uint32_t return_unlink = 4;

// Offsets.
constexpr std::size_t at_command = 0;
constexpr std::size_t at_sequence = 4;
constexpr std::size_t at_direction = 12;
constexpr std::size_t at_endpoint = 16;
constexpr std::size_t at_victim = 20;
constexpr std::size_t at_status = 20;
constexpr std::size_t at_length = 24;
constexpr std::size_t at_setup = 40;

std::uint32_t get(const Message& message, std::size_t at) {
  return static_cast<std::uint32_t>(message[at]) << 24 |
         static_cast<std::uint32_t>(message[at + 1]) << 16 |
         static_cast<std::uint32_t>(message[at + 2]) << 8 | message[at + 3];
}
void put(Message* message, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    (*message)[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }
}

}  // namespace

std::optional<Submit> parse_submit(const Message& message) {
  if (get(message, at_command) != command_submit) return std::nullopt;
  Submit submit{.sequence = get(message, at_sequence),
                .in = get(message, at_direction) != 0,
                .endpoint = get(message, at_endpoint),
                .data_bytes = get(message, at_length)};
  if (submit.data_bytes > most_data_bytes) return std::nullopt;
  std::copy_n(message.begin() + at_setup, submit.setup.size(), submit.setup.begin());
  return submit;
}

std::optional<Unlink> parse_unlink(const Message& message) {
  if (get(message, at_command) != command_unlink) return std::nullopt;
  return Unlink{get(message, at_sequence), get(message, at_victim)};
}

Message write_submit(const Submit& submit) {
  Message message{};
  put(&message, at_command, command_submit);
  put(&message, at_sequence, submit.sequence);
  put(&message, at_direction, submit.in ? 1 : 0);
  put(&message, at_endpoint, submit.endpoint);
  put(&message, at_length, submit.data_bytes);
  std::copy(submit.setup.begin(), submit.setup.end(), message.begin() + at_setup);
  return message;
}

Message write_submitted(std::uint32_t sequence, std::int32_t status, std::uint32_t actual_bytes) {
  Message message{};
  put(&message, at_command, return_submit);
  put(&message, at_sequence, sequence);
  put(&message, at_status, static_cast<std::uint32_t>(status));
  put(&message, at_length, actual_bytes);
  return message;
}

Message write_unlinked(std::uint32_t sequence, std::int32_t status) {
  Message message{};
  put(&message, at_command, return_unlink);
  put(&message, at_sequence, sequence);
  put(&message, at_status, static_cast<std::uint32_t>(status));
  return message;
}

std::optional<Submitted> parse_submitted(const Message& message) {
  if (get(message, at_command) != return_submit) return std::nullopt;
  return Submitted{get(message, at_sequence), static_cast<std::int32_t>(get(message, at_status)),
                   get(message, at_length)};
}

}  // namespace assay::firmware::device::usbip
