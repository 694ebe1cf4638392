// Bytes of a serial line in, the reply to one AT command out. Does no I/O, keeps a bounded amount
// of memory whatever comes, and gives the same reply however the bytes are cut into chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::firmware {

class AtParser {
 public:
  static constexpr std::size_t max_line = 4096;
  static constexpr std::size_t max_reply = 65536;

  enum class State {
    collecting,  // no final result yet
    ok,          // "OK" came
    error,       // "ERROR" came
    overflow,    // max_reply bytes came and no final result: that is no reply
  };

  explicit AtParser(std::string_view command) : command_(command) {}

  // Takes bytes until the state is not `collecting` any more; returns how many it took.
  std::size_t feed(std::span<const std::uint8_t> bytes);

  State state() const { return state_; }
  // The lines before the final result, in order, without blanks at their ends; blank lines, the
  // echo of the command and all that came before that echo left out. Of a line longer than max_line
  // the first max_line bytes. Any bytes but NUL, CR and LF may be in them.
  const std::vector<std::string>& lines() const { return lines_; }
  // What came after the last line end.
  std::string_view unfinished() const { return line_; }
  bool echoed() const { return echoed_; }
  std::size_t received() const { return received_; }

 private:
  void end_line();

  std::string command_;
  State state_ = State::collecting;
  std::vector<std::string> lines_;
  std::string line_;
  std::size_t received_ = 0;
  bool echoed_ = false;
};

}  // namespace assay::firmware
