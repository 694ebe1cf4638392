#include "firmware/device/at_server.h"

namespace assay::firmware::device {
namespace {

constexpr std::uint8_t cancel = 0x18;  // CAN

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

}  // namespace

void AtServer::boot() {
  send_line("", "");
  send_line("NPU boot ", identity_.version);
  send_line("sram: 4096 KiB", "");
  send_line("link: training", "");
  send_line("NPU ready", "");
}

void AtServer::receive(std::uint8_t byte) {
  if (echo_) port_.send(port_.context, &byte, 1);
  if (byte == cancel) {
    // Whoever was typing gave up; so does a host that ends a transfer which may be running here.
    length_ = 0;
    overlong_ = false;
  } else if (byte == '\r' || byte == '\n') {
    // The LF of CRLF ends a blank line, which gets no answer: no need to remember the CR.
    answer_line();
  } else if (length_ == max_line) {
    overlong_ = true;
  } else {
    line_[length_++] = static_cast<char>(byte);
  }
}

void AtServer::answer_line() {
  if (length_ == 0) return;
  const Handler handler = overlong_ ? nullptr : handler_of_line();
  const char* argument = "";
  const Command* const command = overlong_ ? nullptr : command_of_line(&argument);
  length_ = 0;
  overlong_ = false;
  if (handler != nullptr) (this->*handler)();
  const bool ok = handler != nullptr || (command != nullptr && command->run(more_.owner, argument));
  send_line(ok ? "OK" : "ERROR", "");
}

AtServer::Handler AtServer::handler_of_line() const {
  struct Own {
    const char* name;
    Handler handler;
  };
  static constexpr Own commands[] = {
      {"AT", &AtServer::attention},
      {"AT+NPUCFG?", &AtServer::report_version},
      {"ATNPUCFG?", &AtServer::report_version},
      {"AT+SN?", &AtServer::report_serial},
      {"ATE0", &AtServer::echo_off},
      {"ATE1", &AtServer::echo_on},
  };
  for (const Own& command : commands) {
    if (line_is(command.name)) return command.handler;
  }
  return nullptr;
}

const Command* AtServer::command_of_line(const char** argument) {
  for (std::size_t i = 0; i < more_.count; ++i) {
    if (line_is(more_.first[i].name)) return &more_.first[i];
    if (const char* behind = argument_behind(more_.first[i].name)) {
      *argument = behind;
      return &more_.first[i];
    }
  }
  return nullptr;
}

const char* AtServer::argument_behind(const char* command) {
  std::size_t i = 0;
  while (command[i] != '\0') {
    if (i == length_ || upper(line_[i]) != command[i]) return nullptr;
    ++i;
  }
  if (i == 0 || command[i - 1] != '=') return nullptr;
  line_[length_] = '\0';
  return line_ + i;
}

bool AtServer::line_is(const char* command) const {
  for (std::size_t i = 0; i < length_; ++i) {
    if (command[i] == '\0' || upper(line_[i]) != command[i]) return false;
  }
  return command[length_] == '\0';
}

void AtServer::send_text(const char* text) {
  std::size_t size = 0;
  while (text[size] != '\0') ++size;
  if (size > 0) port_.send(port_.context, reinterpret_cast<const std::uint8_t*>(text), size);
}

// After the echoed CR the terminal stands at the start of the line that was typed; the line feed
// before an answer keeps it from being overwritten.
void AtServer::send_line(const char* prefix, const char* value) {
  if (echo_) send_text("\r\n");
  send_text(prefix);
  send_text(value);
  send_text("\r\n");
}

void AtServer::attention() {}
void AtServer::report_version() {
  send_line("FW_VER:", identity_.version);
}
void AtServer::report_serial() {
  send_line("SN:", identity_.serial);
}
void AtServer::echo_off() {
  echo_ = false;
}
void AtServer::echo_on() {
  echo_ = true;
}

}  // namespace assay::firmware::device
