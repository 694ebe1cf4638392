// The reference firmware's command server: AT lines in, answers out. Freestanding: no heap, no
// exceptions, no library beyond memcpy and memset, so that the same source runs on bare metal.
//
// Commands, in upper or lower case, ended by CR, LF or CRLF; blank lines get no answer:
//   AT                        OK
//   AT+NPUCFG?, ATNPUCFG?     FW_VER:<version>, OK   (some documents print it without the plus)
//   AT+SN?                    SN:<serial>, OK
//   ATE0, ATE1                OK; echo of received bytes off, on (on after boot, as V.250 has it)
//   what the owner adds       its answer lines, then OK or ERROR
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

// A command of the owner's, in upper case: "AT+SLOTS?", or "AT+IPR=" with whatever follows.
struct Command {
  const char* name;
  // Sends its lines by send_line(); false: the final result is ERROR. `argument` is what stands
  // behind the "=", zero-terminated.
  bool (*run)(void* owner, const char* argument);
};
struct Commands {
  const Command* first = nullptr;
  std::size_t count = 0;
  void* owner = nullptr;
};

// Not thread-safe: one caller at a time, as an interrupt handler or a main loop is.
class AtServer {
 public:
  static constexpr std::size_t max_line = 128;

  AtServer(const Identity& identity, const Port& port, const Commands& more = {})
      : identity_(identity), port_(port), more_(more) {}

  // What the chip prints when it comes up; whoever listens must cope with it.
  void boot();
  void receive(std::uint8_t byte);

  // A line of an answer, or of a message in between.
  void send_line(const char* prefix, const char* value);
  // What the version commands answer from now on.
  void set_version(const char* version) { identity_.version = version; }

 private:
  using Handler = void (AtServer::*)();

  void answer_line();
  // What answers the line; null when nothing does.
  Handler handler_of_line() const;
  bool line_is(const char* command) const;
  // The same for "AT+IPR=" and a line that begins so: where the argument begins, else null.
  const char* argument_behind(const char* command);
  // One of the owner's; null when none is.
  const Command* command_of_line(const char** argument);
  void send_text(const char* text);

  void attention();
  void report_version();
  void report_serial();
  void echo_off();
  void echo_on();

  Identity identity_;
  Port port_;
  Commands more_;
  char line_[max_line + 1];  // and a zero behind it
  std::size_t length_ = 0;
  bool overlong_ = false;
  bool echo_ = true;
};

}  // namespace assay::firmware::device
