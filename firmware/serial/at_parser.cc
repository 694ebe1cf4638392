#include "firmware/serial/at_parser.h"

namespace assay::firmware {
namespace {

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::size_t AtParser::feed(std::span<const std::uint8_t> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size() && state_ == State::collecting) {
    const auto byte = static_cast<char>(bytes[taken++]);
    ++received_;
    if (byte == '\r' || byte == '\n') {
      end_line();
    } else if (byte != '\0' && line_.size() < max_line) {
      // A NUL is what a break, or a line that floats while the board powers up, reads as.
      line_ += byte;
    }
    if (state_ == State::collecting && received_ == max_reply) state_ = State::overflow;
  }
  return taken;
}

void AtParser::end_line() {
  const std::string_view text = trim(line_);
  if (text == "OK") {
    state_ = State::ok;
  } else if (text == "ERROR") {
    state_ = State::error;
  } else if (!command_.empty() && text.ends_with(command_)) {
    // The device may have been in the middle of a line of its own when the command arrived.
    echoed_ = true;
    lines_.clear();
  } else if (!text.empty()) {
    lines_.emplace_back(text);
  }
  line_.clear();
}

}  // namespace assay::firmware
