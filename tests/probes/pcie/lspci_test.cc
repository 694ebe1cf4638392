// The decoder against lspci (pciutils), which was written by others: every field of every register
// that both decode.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "base/machine.h"
#include "probes/pcie/devices.h"
#include "probes/pcie/lspci_dump.h"
#include "probes/pcie/path.h"
#include "probes/pcie/register_text.h"
#include "tests/base/scratch.h"
#include "tests/probes/pcie/config_bytes.h"
#include "tests/support/program.h"

namespace assay::probes {
namespace {

using test::ConfigBytes;

constexpr const char* lspci = "/usr/bin/lspci";

// By register, its words in no order: "Speed", "8GT/s", "SlotClk+".
using Words = std::vector<std::string>;
using Registers = std::map<std::string, Words>;

Words words_of(std::string text) {
  // What lspci makes of a value beside it: "(ok)", "(downgraded)".
  for (std::size_t open; (open = text.find(" (")) != std::string::npos;) {
    text.erase(open, text.find(')', open) + 1 - open);
  }
  for (char& c : text) c = c == ',' || c == ';' || c == '\t' || c == '(' || c == ')' ? ' ' : c;
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  std::sort(words.begin(), words.end());
  return words;
}

void cut_behind(std::string& text, const char* mark) {
  text.erase(std::min(text.find(mark), text.size()));
}

// As lspci says what is said otherwise here.
std::string alike(const std::string& name, std::string text) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    if (at != std::string::npos) text.replace(at, from.size(), to);
  };
  if (name == "LnkCap") {
    // A latency beyond the table: the specification's "more than" is "unlimited" there.
    replace("L0s unlimited", "L0s >4us");
    replace("L1 unlimited", "L1 >64us");
  }
  // Of these a part is decoded.
  if (name == "LnkCtl2") cut_behind(text, ", EnterCompliance");
  if (name == "LnkSta2") cut_behind(text, ", DRS");
  if (name == "LaneErrStat" && text == "0") text = "LaneErr at lane: none";
  if (name == "PMC") text = "version " + text;
  return text;
}

// What `lspci -F DUMP -vvv` prints, by address.
std::map<std::string, Registers> by_lspci(const std::string& dump) {
  const test::Finished printed = test::Program({lspci, "-F", dump, "-vvv", "-D"}).wait();
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  std::map<std::string, Registers> all;
  std::string address;
  std::string capability;
  std::string name;
  std::string text;
  std::string version;
  const auto take = [&] {
    if (!name.empty()) all[address][name] = words_of(alike(name, text));
    name.clear();
  };
  std::istringstream lines(printed.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (line[0] != '\t') {
      take();
      address = line.substr(0, line.find(' '));
      all[address];
    } else if (line.starts_with("\tCapabilities: ")) {
      take();
      capability = line;
      version = line.substr(line.rfind(' ') + 1);
    } else if (line.starts_with("\t\t\t")) {
      text += " " + line.substr(3);
    } else if (line.starts_with("\t\t") && line.find(':') != std::string::npos) {
      take();
      name = line.substr(2, line.find(':') - 2);
      text = line.substr(line.find(':') + 1);
      text.erase(0, text.find_first_not_of(" \t"));
      const bool power = capability.find("Power Management") != std::string::npos;
      if (power && name == "Flags") {
        name = "PMC";
        text = version + " " + text;
      } else if (power && name == "Status") {
        name = "PMCSR";
      } else if (name == "RootSta" && capability.find("Express (v") != std::string::npos) {
        name = "PME RootSta";  // another register of that name
      }
    }
  }
  take();
  return all;
}

Registers by_us(const PciFunction& function) {
  Registers registers;
  for (const RegisterText& line : register_texts(function)) {
    // lspci leaves it out of a function that has nothing to say there.
    if (line.name == "LnkCap2" && line.value == 0) continue;
    registers[line.name] = words_of(line.text);
  }
  return registers;
}

// Both decode the same registers to the same.
void expect_alike(const std::string& dump, std::size_t least_registers) {
  const auto functions = parse_lspci_dump(test::read_file(dump));
  ASSERT_TRUE(functions) << functions.error().text();
  const auto theirs = by_lspci(dump);
  std::size_t compared = 0;
  for (const PciFunction& function : *functions) {
    ASSERT_TRUE(theirs.contains(function.address)) << function.address;
    const Registers& expected = theirs.at(function.address);
    for (const auto& [name, words] : by_us(function)) {
      // lspci 3.9 knows these by name alone.
      if (name.starts_with("16GT") || name.starts_with("Margin")) continue;
      ASSERT_TRUE(expected.contains(name)) << function.address << " " << name;
      EXPECT_EQ(words, expected.at(name)) << function.address << " " << name;
      ++compared;
    }
    for (const char* name :
         {"DevCap",  "DevCtl",  "DevSta",  "LnkCap",   "LnkCtl",  "LnkSta",     "SltCap",
          "LnkCap2", "LnkSta2", "UESta",   "UEMsk",    "UESvrt",  "CESta",      "CEMsk",
          "AERCap",  "RootCmd", "RootSta", "ErrorSrc", "LnkCtl3", "LaneErrStat"}) {
      EXPECT_EQ(by_us(function).contains(name), expected.contains(name))
          << function.address << " " << name;
    }
  }
  EXPECT_GE(compared, least_registers);
}

std::string dump_of(const std::string& address, const std::vector<std::uint8_t>& bytes) {
  std::string text = address + " Device\n";
  for (std::size_t at = 0; at < bytes.size(); at += 16) {
    text += fmt::format("{:02x}:", at);
    for (std::size_t i = at; i < at + 16; ++i) text += fmt::format(" {:02x}", bytes[i]);
    text += "\n";
  }
  return text + "\n";
}

// A function whose registers have random bits where any may be, and codes that are defined.
class RandomFunction {
 public:
  explicit RandomFunction(unsigned seed) : random_(seed) {}

  std::vector<std::uint8_t> make(unsigned type, unsigned version, std::size_t size) {
    ConfigBytes config(size);
    const bool port = type == 0x4 || type == 0x6;
    if (port || type == 0x5) config.device_class(0x0604).bridge(1);
    config.first_capability(0x40).capability(0x40, 0x01, 0x70);
    config.u16(0x42, (bits() & 0xFFF8U) | 3).u16(0x44, bits());
    config.capability(0x70, 0x10, 0).u16(0x72, version | type << 4 | (port ? 1U << 8 : 0));
    config.u32(0x74, (bits32() & ~7U & ~(0xFFU << 18)) | of(6) | (of(0xEF) << 18));
    config.u16(0x78, (bits() & ~0x70E0U) | of(6) << 5 | of(6) << 12).u16(0x7A, bits());
    const unsigned lanes = width();
    config.u32(0x7C, (bits32() & ~0x3FFU) | lanes << 4 | (1 + of(6)));
    config.u16(0x80, bits()).u16(0x82, (bits() & ~0x3FFU) | width() << 4 | (1 + of(6)));
    if (port) config.u32(0x84, (bits32() & ~(0xFFU << 7)) | of(0xEF) << 7);
    if (version >= 2) {
      // To 32 GT/s: lspci 3.9 calls a vector with 64 reserved.
      config.u32(0x9C, (bits32() & ~0xFFU) | ((2U << (1 + of(5))) - 2));
      config.u16(0xA0, (bits() & ~0xFU) | (1 + of(6))).u16(0xA2, bits());
    }
    if (size == 4096) {
      extended(config);
      // Bits of lanes that the link does not have are reserved; lspci shows them all the same.
      config.u32(0x150, bits32() & ((1U << lanes) - 1));
    }
    return config.bytes();
  }

 private:
  void extended(ConfigBytes& config) {
    struct Part {
      std::uint32_t id, version, at, bytes;
    };
    constexpr Part parts[] = {{0x01, 2, 0x100, 0x48},
                              {0x19, 1, 0x148, 0x30},
                              {0x26, 1, 0x178, 0x30},
                              {0x27, 1, 0x1A8, 0x88}};
    for (std::size_t i = 0; i < std::size(parts); ++i) {
      const Part& p = parts[i];
      const std::uint32_t next = i + 1 < std::size(parts) ? parts[i + 1].at : 0;
      config.u32(p.at, p.id | p.version << 16 | next << 20);
      for (std::uint32_t at = p.at + 4; at < p.at + p.bytes; at += 4) config.u32(at, bits32());
    }
  }
  unsigned bits() { return bits32() & 0xFFFF; }
  std::uint32_t bits32() { return static_cast<std::uint32_t>(random_()); }
  unsigned of(unsigned count) { return bits32() % count; }
  unsigned width() {
    constexpr unsigned widths[] = {1, 2, 4, 8, 12, 16};
    return widths[of(std::size(widths))];
  }
  std::mt19937 random_;
};

class Lspci : public testing::TestWithParam<unsigned> {
 protected:
  test::Scratch scratch_;
};

TEST_P(Lspci, decodesTheSameFromADump) {
  RandomFunction function(GetParam());
  std::string dump;
  // Each as device 0 of a bus: of an endpoint that is another device lspci leaves out LnkCap2.
  unsigned bus = 1;
  for (const unsigned type : {0x0U, 0x1U, 0x4U, 0x5U, 0x6U, 0x9U}) {
    for (const unsigned version : {1U, 2U}) {
      for (const std::size_t size : {256U, 4096U}) {
        dump += dump_of(fmt::format("{:02x}:00.0", bus++), function.make(type, version, size));
      }
    }
  }
  scratch_.write("dump", dump);
  expect_alike(scratch_ / "dump", 24 * 5);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Lspci, testing::Range(1U, 17U));

// Devices that others modelled, as a kernel in QEMU saw them; tests/data/pcie/README.md.
TEST(LspciGuest, decodesTheSameOfASwitchAndWhatHangsOnIt) {
  const std::string dump = ASSAY_SOURCE "/tests/data/pcie/qemu-q35.dump";
  expect_alike(dump, 8 * 10);
  const auto functions = parse_lspci_dump(test::read_file(dump));
  ASSERT_TRUE(functions) << functions.error().text();
  ASSERT_EQ(functions->size(), 8U);
  const auto find = [&](const char* address) -> const PciFunction& {
    return *std::find_if(functions->begin(), functions->end(),
                         [&](const PciFunction& f) { return f.address == address; });
  };
  for (const PciFunction& f : *functions) {
    EXPECT_EQ(f.bytes_read, 4096U) << f.address;
    EXPECT_FALSE(f.cut) << f.address;
    ASSERT_NE(f.link(), nullptr) << f.address;
  }
  // What QEMU was told of the port.
  EXPECT_EQ(find("0000:00:02.0").link()->max_speed_gts, 16.0);
  EXPECT_EQ(find("0000:00:02.0").link()->max_width, 4);
  // Root port, switch up, switch down, the drive.
  const std::vector<Hop> path = path_to(*functions, find("0000:04:00.0"));
  ASSERT_EQ(path.size(), 2U);
  EXPECT_EQ(path[0].port->address, "0000:00:03.0");
  EXPECT_EQ(path[0].below->address, "0000:02:00.0");
  EXPECT_EQ(path[1].port->address, "0000:03:00.0");
}

// This machine, as the kernel shows it to us and to lspci.
TEST(LspciMachine, decodesTheSameOfThisMachine) {
  const test::Scratch scratch_;
  const auto functions = read_pci_functions(Machine("/"));
  const test::Finished saved = test::Program({lspci, "-D", "-xxxx"}).wait();
  if (!functions || functions->empty()) {
    // A machine without PCI: lspci sees none either.
    EXPECT_EQ(saved.out, "");
    return;
  }
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  scratch_.write("dump", saved.out);
  expect_alike(scratch_ / "dump", 0);
  const auto dumped = parse_lspci_dump(saved.out);
  ASSERT_TRUE(dumped) << dumped.error().text();
  ASSERT_EQ(dumped->size(), functions->size());
  for (std::size_t i = 0; i < functions->size(); ++i) {
    EXPECT_EQ((*dumped)[i].address, (*functions)[i].address);
    EXPECT_EQ(by_us((*dumped)[i]), by_us((*functions)[i]));
  }
}

}  // namespace
}  // namespace assay::probes
