// firmware/device/at_server.h: the reference firmware's command server.
#include "firmware/device/at_server.h"

#include <string>

#include "tests/fuzz/fuzz.h"

using assay::firmware::device::AtServer;
using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string sent;
  const auto send = [](void* context, const std::uint8_t* bytes, std::size_t count) {
    static_cast<std::string*>(context)->append(reinterpret_cast<const char*>(bytes), count);
  };
  AtServer server({"2.1.4-rc3", "M6-2026-004417"}, {send, &sent});
  std::size_t line_ends = 0;
  for (std::size_t i = 0; i < size; ++i) {
    server.receive(data[i]);
    if (data[i] == '\r' || data[i] == '\n') ++line_ends;
  }
  // The longest answer is a version or serial line and OK, each with its line ends.
  require(sent.size() <= size + line_ends * 64, "each line gets one short answer at most");

  // Whatever came before, the server answers the next command.
  server.receive('\n');
  for (const char c : std::string_view("ATE0\r")) server.receive(static_cast<std::uint8_t>(c));
  sent.clear();
  for (const char c : std::string_view("at+npucfg?\r"))
    server.receive(static_cast<std::uint8_t>(c));
  require(sent == "FW_VER:2.1.4-rc3\r\nOK\r\n", "the next command is answered");
  return 0;
}
