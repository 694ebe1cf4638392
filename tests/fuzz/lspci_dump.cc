// probes/pcie/lspci_dump.h: configuration spaces saved by lspci.
#include "probes/pcie/lspci_dump.h"

#include <algorithm>
#include <cstdio>

#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

namespace {

void require_place(const assay::Error& error, std::size_t lines) {
  require(error.kind == assay::ErrorKind::usage && !error.what.empty(), "an error says what");
  // Without a line: nothing in the whole text is a function.
  if (error.where.empty()) {
    require(!error.hint.empty(), "an error without a line says what to do");
    return;
  }
  std::size_t line = 0;
  require(std::sscanf(error.where.c_str(), "line %zu", &line) == 1 && line >= 1 && line <= lines,
          "an error's line is in the text");
}

void require_sound(const assay::probes::PciFunction& function) {
  const std::size_t size = function.bytes_read;
  require(size >= 64 && size <= 4096, "64 to 4096 bytes a function");
  for (const auto& capability : function.capabilities.entries) {
    require(capability.at >= 64 && capability.at < 256 && capability.at + 2 <= size,
            "a capability is in the bytes that were read");
  }
  for (const auto& capability : function.extended_list.entries) {
    require(capability.at >= 256 && capability.at + 4 <= size,
            "an extended capability is in the bytes that were read");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = assay::fuzz::text_of(data, size);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  const auto functions = assay::probes::parse_lspci_dump(text);
  if (!functions) {
    require_place(functions.error(), lines);
    assay::fuzz::reached(functions.error().where.empty() ? "nothing" : functions.error().where);
    return 0;
  }
  require(!functions->empty(), "no error, so there is a function");
  std::size_t bytes = 0;
  for (const auto& function : *functions) {
    require_sound(function);
    bytes += function.bytes_read;
    assay::fuzz::reached(
        std::to_string(function.bytes_read) + " bytes" + (function.cut ? ", cut" : "") +
        (function.capabilities.broken ? ", broken" : "") +
        (function.link() != nullptr ? ", link" : "") + (function.extended.aer ? ", AER" : ""));
  }
  assay::fuzz::reached(std::to_string(functions->size()) + " functions");
  require(bytes * 3 <= size, "a byte takes a blank and two digits");
  require(std::adjacent_find(functions->begin(), functions->end(),
                             [](const auto& a, const auto& b) { return a.address >= b.address; }) ==
              functions->end(),
          "sorted by address, each once");

  if (text.find('\r') != text.npos) {
    assay::fuzz::reached("CRLF");
    return 0;
  }
  std::string other_system;
  for (const char c : text) {
    if (c == '\n') other_system += '\r';
    other_system += c;
  }
  const auto again = assay::probes::parse_lspci_dump(other_system);
  require(again && again->size() == functions->size(), "the lines' ends make no difference");
  for (std::size_t i = 0; i < again->size(); ++i) {
    require((*again)[i].address == (*functions)[i].address &&
                (*again)[i].bytes_read == (*functions)[i].bytes_read,
            "the lines' ends make no difference to a function");
  }
  return 0;
}
