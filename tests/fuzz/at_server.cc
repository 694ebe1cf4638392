// firmware/device/at_server.h: the reference firmware's command server.
#include "firmware/device/at_server.h"

#include <string>

#include "tests/fuzz/fuzz.h"

using assay::firmware::device::AtServer;
using assay::firmware::device::Command;
using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string sent;
  const auto send = [](void* context, const std::uint8_t* bytes, std::size_t count) {
    static_cast<std::string*>(context)->append(reinterpret_cast<const char*>(bytes), count);
  };
  // One with an argument, which the owner may read to its zero, and one that refuses.
  const Command more[] = {{"AT+IPR=",
                           [](void*, const char* argument) {
                             const std::string_view text(argument);
                             require(text.size() <= AtServer::max_line, "an argument has an end");
                             assay::fuzz::reached("AT+IPR= with " + std::string(text));
                             return !text.empty();
                           }},
                          {"AT+SLOTS?", [](void*, const char* argument) {
                             require(*argument == '\0', "nothing stands behind it");
                             assay::fuzz::reached("AT+SLOTS?");
                             return false;
                           }}};
  AtServer server({"2.1.4-rc3", "M6-2026-004417"}, {send, &sent}, {more, 2, nullptr});
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
  if (sent.find("FW_VER:") != sent.npos) assay::fuzz::reached("a version");
  sent.clear();
  for (const char c : std::string_view("at+npucfg?\r"))
    server.receive(static_cast<std::uint8_t>(c));
  require(sent == "FW_VER:2.1.4-rc3\r\nOK\r\n", "the next command is answered");
  return 0;
}
