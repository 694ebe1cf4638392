// assay fw list | slots | reset | console: a board's firmware over its serial port. (query and
// flash are probes, see probe_commands.cc.)
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "firmware/serial/at_client.h"
#include "firmware/serial/port_list.h"
#include "firmware/serial/transport.h"
#include "firmware/update/board_client.h"
#include "firmware/update/board_link.h"
#include "probes/firmware/uart_port.h"
#include "station/commands/commands.h"
#include "station/commands/console.h"
#include "station/config/board_guess.h"
#include "station/run/session.h"
#include "station/run/signals.h"

namespace assay::station {
namespace {

using Json = nlohmann::ordered_json;

struct FirmwareOptions {
  SessionOptions session;
  bool json = false;
};

// The board's UART, as its profile describes it, and where it is.
struct Port {
  std::unique_ptr<Session> session;
  std::string path;
  const probes::UartProfile& uart() const { return *session->board().uart; }
  Result<std::unique_ptr<firmware::Transport>> open() const {
    return firmware::open_transport(path, uart().baud.front());
  }
};

Result<Port> choose_port(const FirmwareOptions& options) {
  const auto library = Library::open();
  if (!library) return std::unexpected(library.error());
  auto session = Session::open(*library, options.session);
  if (!session) return std::unexpected(session.error());
  const auto& uart = (*session)->board().uart;
  if (!uart) {
    return fail(ErrorKind::usage, "the board's profile names no UART", (*session)->board().id,
                "name another one with --board");
  }
  auto path = probes::choose_port((*session)->bench());
  if (!path) return std::unexpected(path.error());
  return Port{std::move(*session), std::move(*path)};
}

Result<int> list(const FirmwareOptions& options) {
  const auto library = Library::open();
  if (!library) return std::unexpected(library.error());
  const auto ports = firmware::list_ports();
  if (!ports) return std::unexpected(ports.error());
  Json all = Json::array();
  for (const auto& port : *ports) {
    all.push_back(Json{{"port", port.path},
                       {"usb_id", port.usb_id},
                       {"usb_serial", port.usb_serial},
                       {"description", port.description},
                       {"may_be", boards_with_usb_id(*library, port.usb_id)}});
  }
  if (options.json) {
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  if (all.empty()) fmt::print("no serial ports\n");
  const auto text = [](const Json& one, const char* key) { return one[key].get<std::string>(); };
  for (const Json& one : all) {
    const std::string board = text(one, "may_be");
    fmt::print("{:<16} {:<9}  {:<12}  {}{}\n", text(one, "port"), text(one, "usb_id"),
               text(one, "usb_serial"), text(one, "description"),
               board.empty() ? "" : "   <- may be a " + board);
  }
  return 0;
}

Result<int> slots(const FirmwareOptions& options) {
  // Before a library starts a thread, which would die of them.
  const auto signals = CancelledBySignals::take();
  if (!signals) return std::unexpected(signals.error());
  const auto port = choose_port(options);
  if (!port) return std::unexpected(port.error());
  const auto transport = port->open();
  if (!transport) return std::unexpected(transport.error());
  firmware::AtOptions at;
  at.cancel = &signals->token();
  const auto found =
      firmware::query_version_at_bauds(**transport, port->uart().rates(), port->uart().query, at);
  if (!found) return std::unexpected(found.error());
  firmware::AtClient client(**transport);
  const auto slots = firmware::query_slots(client, at);
  if (!slots) return std::unexpected(slots.error());
  const auto state = firmware::query_boot_state(client, at);
  if (!state) return std::unexpected(state.error());
  Json all = Json::array();
  for (const auto& slot : *slots) {
    const char* what = !slot.running     ? (slot.version.empty() ? "empty" : "standby")
                       : state->on_trial ? "running on trial"
                                         : "running";
    all.push_back(Json{{"slot", slot.number}, {"version", slot.version}, {"state", what}});
  }
  if (options.json) {
    fmt::print("{}\n", Json{{"slots", all}, {"reverted", state->reverted}}.dump(
                           2, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  for (const Json& one : all) {
    fmt::print("slot {}  {:<16} {}\n", one["slot"].get<unsigned>(),
               one["version"].get<std::string>(), one["state"].get<std::string>());
  }
  if (state->reverted) fmt::print("the last boot went back from an image that was not confirmed\n");
  return 0;
}

Result<int> reset(const FirmwareOptions& options) {
  const auto signals = CancelledBySignals::take();
  if (!signals) return std::unexpected(signals.error());
  const auto port = choose_port(options);
  if (!port) return std::unexpected(port.error());
  firmware::BoardLink link(
      [&] { return port->open(); },
      {.query = port->uart().query, .bauds = port->uart().rates(), .cancel = &signals->token()});
  if (auto opened = link.open(); !opened) return std::unexpected(opened.error());
  if (const auto found = link.find(); !found) return std::unexpected(found.error());
  const auto version = link.reset();
  if (!version) return std::unexpected(version.error());
  if (options.json) {
    fmt::print("{}\n", Json{{"version", to_valid_utf8(version->text)}}.dump());
  } else {
    fmt::print("the board is up again and runs {}\n", to_printable(version->text));
  }
  return 0;
}

Result<int> console(const FirmwareOptions& options) {
  const auto signals = take_signals(SignalsFor::lines);
  if (!signals) return std::unexpected(signals.error());
  const auto port = choose_port(options);
  if (!port) return std::unexpected(port.error());
  const auto transport = port->open();
  if (!transport) return std::unexpected(transport.error());
  return run_console(**transport, signals->get());
}

CLI::App* add(CLI::App& fw, Invocation& invocation, const char* name, const char* help,
              const char* examples, bool has_board, bool has_json,
              Result<int> (*run)(const FirmwareOptions&)) {
  auto options = std::make_shared<FirmwareOptions>();
  CLI::App* command = fw.add_subcommand(name, help);
  if (has_board) {
    command->add_option("--board", options->session.board, "board profile, by id or file");
    command->add_option("--port", options->session.port, "serial port of the board");
    command->add_flag("--virtual", options->session.is_virtual, "on a virtual board");
    command->add_option("--fault", options->session.faults, "break the virtual board (repeatable)")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  if (has_json) command->add_flag("--json", options->json, "as JSON");
  command->footer(std::string("Examples:\n") + examples);
  command->callback([options, run, &invocation] {
    const auto code = run(*options);
    invocation.exit_code = code ? *code : report_error(code.error());
  });
  return command;
}

}  // namespace

void add_firmware_commands(CLI::App& app, Invocation& invocation) {
  CLI::App* fw = app.add_subcommand("fw", "a board's firmware: ask, update, images");
  fw->require_subcommand(1);
  add(*fw, invocation, "list", "serial ports, and which may be a board's",
      "  assay fw list\n  assay fw list --json", false, true, list);
  add(*fw, invocation, "slots", "what the board's firmware slots hold",
      "  assay fw slots --board m6-mini\n  assay fw slots --virtual", true, true, slots);
  add(*fw, invocation, "reset", "reset the board and wait until it answers",
      "  assay fw reset --board m6-mini --port /dev/ttyUSB0", true, true, reset);
  add(*fw, invocation, "console", "a terminal on the board's serial port; Ctrl-] leaves",
      "  assay fw console --board m6-mini\n  echo AT+BOOTLOG? | assay fw console --virtual", true,
      false, console);
  add_image_commands(*fw, invocation);
}

}  // namespace assay::station
