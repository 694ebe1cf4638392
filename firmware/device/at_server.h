// The reference firmware's command server: AT lines in, answers out. Freestanding: no heap, no
// exceptions, no library beyond memcpy and memset, so that the same source runs on bare metal.
//
// Commands, in upper or lower case, ended by CR, LF or CRLF; blank lines get no answer:
//   AT                        OK
//   AT+NPUCFG?, ATNPUCFG?     FW_VER:<version>, OK   (some documents print it without the plus)
//   AT+SN?                    SN:<serial>, OK
//   ATE0, ATE1                OK; echo of received bytes off, on (on after boot, as V.250 has it)
//   anything else             ERROR; so does a line longer than max_line bytes
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::firmware::device {

// Where the bytes leave. `send` is called from boot() and receive() and must take all of them.
struct Port {
  void (*send)(void* context, const std::uint8_t* bytes, std::size_t size);
  void* context;
};

// Zero-terminated strings that outlive the server; no control characters in them.
struct Identity {
  const char* version;
  const char* serial;
};

// Not thread-safe: one caller at a time, as an interrupt handler or a main loop is.
class AtServer {
 public:
  static constexpr std::size_t max_line = 128;

  AtServer(const Identity& identity, const Port& port) : identity_(identity), port_(port) {}

  // What the chip prints when it comes up; whoever listens must cope with it.
  void boot();
  void receive(std::uint8_t byte);

 private:
  using Handler = void (AtServer::*)();

  void answer_line();
  // What answers the line; null when nothing does.
  Handler handler_of_line() const;
  bool line_is(const char* command) const;
  void send_text(const char* text);
  void send_line(const char* prefix, const char* value);

  void attention();
  void report_version();
  void report_serial();
  void echo_off();
  void echo_on();

  Identity identity_;
  Port port_;
  char line_[max_line];
  std::size_t length_ = 0;
  bool overlong_ = false;
  bool echo_ = true;
};

}  // namespace assay::firmware::device
