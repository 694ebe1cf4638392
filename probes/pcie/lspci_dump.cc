#include "probes/pcie/lspci_dump.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>

namespace assay::probes {
namespace {

constexpr std::size_t config_bytes = 4096;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// "0000:01:00.0" of "01:00.0 NAME" or "0000:01:00.0 NAME"; empty when the line begins otherwise.
std::string address_of(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(' '));
  const auto digits = [&](std::size_t at, std::size_t count) {
    if (at + count > word.size()) return false;
    return std::all_of(word.begin() + static_cast<std::ptrdiff_t>(at),
                       word.begin() + static_cast<std::ptrdiff_t>(at + count), is_hex);
  };
  // "01:00.0", with a domain of four digits or more before it.
  if (word.size() < 7) return {};
  const std::size_t bus = word.size() - 7;
  if (!digits(bus, 2) || word[bus + 2] != ':' || !digits(bus + 3, 2) || word[bus + 5] != '.' ||
      !digits(bus + 6, 1)) {
    return {};
  }
  if (bus == 0) return "0000:" + std::string(word);
  if (bus < 5 || bus > 9 || word[bus - 1] != ':' || !digits(0, bus - 1)) return {};
  return std::string(word);
}

struct HexLine {
  std::size_t offset = 0;
  std::vector<std::uint8_t> bytes;
};

// "10: 00 1a ..."; nothing for another line.
std::optional<HexLine> hex_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon < 2 || colon > 3 || colon + 1 >= line.size() || line[colon + 1] != ' ') {
    return std::nullopt;
  }
  HexLine parsed;
  const auto [end, error] = std::from_chars(line.data(), line.data() + colon, parsed.offset, 16);
  if (error != std::errc{} || end != line.data() + colon) return std::nullopt;
  for (std::size_t at = colon + 1; at < line.size();) {
    if (line[at] == ' ') {
      ++at;
      continue;
    }
    if (at + 1 >= line.size() || !is_hex(line[at]) || !is_hex(line[at + 1])) return std::nullopt;
    std::uint8_t byte = 0;
    std::from_chars(line.data() + at, line.data() + at + 2, byte, 16);
    parsed.bytes.push_back(byte);
    at += 2;
    if (at < line.size() && line[at] != ' ') return std::nullopt;
  }
  if (parsed.bytes.empty()) return std::nullopt;
  return parsed;
}

}  // namespace

Result<std::vector<PciFunction>> parse_lspci_dump(std::string_view text) {
  std::map<std::string, std::vector<std::uint8_t>> dumps;
  std::vector<std::uint8_t>* bytes = nullptr;
  std::size_t number = 0;
  const auto bad = [&](const std::string& why) {
    return fail(ErrorKind::usage, why, fmt::format("line {}", number));
  };
  while (!text.empty()) {
    ++number;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::string address = address_of(line); !address.empty()) {
      const auto [at, added] = dumps.try_emplace(std::move(address));
      if (!added) return bad("a second function " + at->first);
      bytes = &at->second;
      continue;
    }
    const auto hex = hex_line(line);
    if (!hex) continue;
    if (bytes == nullptr) return bad("bytes before any function: expected \"01:00.0 NAME\" first");
    if (hex->offset != bytes->size()) {
      return bad(fmt::format("bytes from {:#x}, the ones before end at {:#x}", hex->offset,
                             bytes->size()));
    }
    if (hex->offset + hex->bytes.size() > config_bytes) return bad("more than 4096 bytes");
    bytes->insert(bytes->end(), hex->bytes.begin(), hex->bytes.end());
  }
  std::vector<PciFunction> functions;
  for (const auto& [address, dump] : dumps) {
    if (auto function = decode_config_space(dump, address)) {
      functions.push_back(std::move(*function));
    }
  }
  if (functions.empty()) {
    return fail(ErrorKind::usage, "no configuration space of a PCI function is in it", {},
                "save one with  sudo lspci -xxxx > DUMP");
  }
  return functions;
}

}  // namespace assay::probes
