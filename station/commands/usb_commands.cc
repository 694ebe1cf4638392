// assay usb list: the USB devices of this machine. (usb flash is a probe, see probe_commands.cc.)
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "firmware/usb/usb_list.h"
#include "station/commands/commands.h"
#include "station/config/board_guess.h"

namespace assay::station {
namespace {

using Json = nlohmann::ordered_json;

Result<int> list(bool as_json) {
  const auto library = Library::open();
  if (!library) return std::unexpected(library.error());
  const auto devices = firmware::list_usb_devices();
  if (!devices) return std::unexpected(devices.error());
  Json all = Json::array();
  for (const auto& device : *devices) {
    const std::string board = boards_with_usb_id(*library, device.id());
    if (!as_json) {
      fmt::print("{:<8} {}  {:<12} {:<12}  {}{}\n", device.port, device.id(), to_text(device.role),
                 device.serial, device.description, board.empty() ? "" : "   <- may be a " + board);
    }
    all.push_back(Json{{"port", device.port},
                       {"id", device.id()},
                       {"role", to_text(device.role)},
                       {"serial", device.serial},
                       {"description", device.description},
                       {"may_be", board}});
  }
  if (as_json) {
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
  } else if (all.empty()) {
    fmt::print("no USB devices\n");
  }
  return 0;
}

}  // namespace

void add_usb_commands(CLI::App& app, Invocation& invocation) {
  CLI::App* usb = app.add_subcommand("usb", "USB devices, and firmware over DFU");
  usb->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  CLI::App* command = usb->add_subcommand("list", "USB devices, and which may be a board's");
  command->add_flag("--json", *json, "as JSON");
  command->footer("Examples:\n  assay usb list\n  assay usb list --json");
  command->callback([json, &invocation] {
    const auto code = list(*json);
    invocation.exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace assay::station
