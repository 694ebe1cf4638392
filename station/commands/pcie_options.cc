#include "station/commands/pcie_options.h"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/machine.h"
#include "base/regular_file.h"
#include "base/utf8.h"
#include "probes/pcie/function_json.h"
#include "probes/pcie/link_judge.h"
#include "probes/pcie/lspci_dump.h"
#include "probes/pcie/path.h"
#include "probes/pcie/register_text.h"
#include "probes/pcie/retrain.h"

namespace assay::station {
namespace {

using probes::describe_link;
using probes::PciFunction;

void print_function(const std::vector<PciFunction>& all, const PciFunction& f) {
  fmt::print("{}  {:04x}:{:04x}  class {:#06x}{}{}\n", f.address, f.vendor, f.device, f.class_code,
             f.express ? "  " : "", f.express ? to_text(f.express->type) : "");
  for (const probes::RegisterText& line : register_texts(f)) {
    fmt::print("  {:<16} {:#010x}  {}\n", line.name, line.value, line.text);
  }
  const auto path = path_to(all, f);
  for (const probes::Hop& hop : path) {
    fmt::print("  {} to {}: {} of {}, {:.2f} GB/s each way{}\n",
               hop.port != nullptr ? hop.port->address : "root", hop.below->address,
               describe_link(hop.speed_gts, hop.width),
               describe_link(hop.possible_speed_gts, hop.possible_width), hop.bandwidth_gbps(),
               path.size() > 1 && &hop == narrowest(path) ? ", the narrowest" : "");
  }
  if (f.cut) fmt::print("  its capabilities go on behind the bytes of the dump\n");
}

Result<int> decode(const std::string& file, bool json) {
  const auto text = read_regular_file(file, probes::most_dump_bytes);
  if (!text) return std::unexpected(text.error());
  auto functions = probes::parse_lspci_dump(*text);
  if (!functions) {
    Error error = functions.error();
    error.where = to_printable(file) + (error.where.empty() ? "" : ", " + error.where);
    return std::unexpected(error);
  }
  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (const PciFunction& f : *functions) list.push_back(to_json(f));
    fmt::print("{}\n", nlohmann::json{{"functions", std::move(list)}}.dump(2));
    return 0;
  }
  for (const PciFunction& f : *functions) print_function(*functions, f);
  return 0;
}

Result<int> retrain(const std::string& address, bool json) {
  const auto done = probes::retrain_link(Machine(), address, [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return true;
  });
  if (!done) return std::unexpected(done.error());
  const std::string before = describe_link(done->before.speed_gts, done->before.width);
  const std::string after = describe_link(done->after.speed_gts, done->after.width);
  if (json) {
    fmt::print("{}\n",
               nlohmann::json{{"port", address}, {"before", before}, {"after", after}}.dump(2));
  } else {
    fmt::print("{}: {} before, {} after\n", address, before, after);
  }
  return 0;
}

}  // namespace

Instead add_pcie_options(CLI::App& command) {
  struct Options {
    std::string from;
    std::string port;
  };
  auto options = std::make_shared<Options>();
  auto* from = command.add_option("--from", options->from,
                                  "decode what  lspci -xxxx  saved, and judge nothing");
  command
      .add_option("--retrain", options->port,
                  "ask this root port (0000:00:02.0) to train its link again; needs root, and the "
                  "device's traffic pauses")
      ->excludes(from);
  return [options](bool json) -> std::optional<Result<int>> {
    if (!options->from.empty()) return decode(options->from, json);
    if (!options->port.empty()) return retrain(options->port, json);
    return std::nullopt;
  };
}

}  // namespace assay::station
