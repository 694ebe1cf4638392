// firmware/serial/at_parser.h: bytes of a serial line into a reply.
#include "firmware/serial/at_parser.h"

#include "tests/fuzz/fuzz.h"

using assay::firmware::AtParser;
using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view command = "AT+NPUCFG?";
  const std::span<const std::uint8_t> bytes(data, size);
  AtParser whole(command);
  const std::size_t taken = whole.feed(bytes);
  require(taken == size || whole.state() != AtParser::State::collecting,
          "bytes are left only behind a final result");
  require(whole.received() == taken, "received() counts what was taken");
  if (whole.state() == AtParser::State::ok || whole.state() == AtParser::State::error) {
    assay::fuzz::reached(std::string(whole.echoed() ? "echo, " : "") +
                         (whole.state() == AtParser::State::ok ? "OK" : "ERROR") + ", " +
                         std::to_string(whole.lines().size()) + " lines");
  }
  std::size_t kept = whole.unfinished().size();
  for (const std::string& line : whole.lines()) {
    require(!line.empty() && line.size() <= AtParser::max_line, "lines are 1..max_line long");
    require(line.find_first_of(std::string_view("\0\r\n", 3)) == std::string::npos,
            "lines hold no NUL, CR or LF");
    kept += line.size();
  }
  require(kept <= AtParser::max_reply, "memory is bounded by max_reply");

  // The same bytes one by one give the same reply.
  AtParser single(command);
  for (std::size_t i = 0; i < size; ++i) {
    if (single.feed(bytes.subspan(i, 1)) == 0) break;
  }
  require(single.state() == whole.state() && single.lines() == whole.lines() &&
              single.received() == whole.received() && single.echoed() == whole.echoed() &&
              single.unfinished() == whole.unfinished(),
          "the reply does not depend on how the bytes are cut");
  return 0;
}
