// assay model fit: will a model load on a board, and if not, why not and how else.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "base/utf8.h"
#include "firmware/serial/at_client.h"
#include "probes/firmware/uart_port.h"
#include "probes/fragmentation/device_memory.h"
#include "runtime/model/fit.h"
#include "station/commands/model_file_commands.h"
#include "station/config/library.h"
#include "station/config/model_shape.h"
#include "station/run/session.h"

namespace assay::station {
namespace {

using runtime::Fit;
using runtime::PrecisionFit;
using Json = nlohmann::ordered_json;

struct FitOptions {
  SessionOptions session;
  std::string model;
  std::string precision = "f16";
  std::string firmware;
  bool json = false;
};

struct KnownFirmware {
  std::optional<SemanticVersion> version;
  std::string from;  // how it is known
};

// What was given, else what the board says, else what its profile asks for at least.
Result<KnownFirmware> firmware_of(const FitOptions& options, const probes::Bench& bench) {
  if (!options.firmware.empty()) {
    auto version = parse_semantic_version(options.firmware);
    if (!version) {
      version.error().kind = ErrorKind::usage;
      version.error().where = "--firmware";
      return std::unexpected(version.error());
    }
    return KnownFirmware{*version, "as given"};
  }
  const probes::BoardProfile& board = bench.board;
  if (board.uart && (!bench.uart_port.empty() || options.session.is_virtual)) {
    const auto port = probes::choose_port(bench);
    if (!port) return std::unexpected(port.error());
    const auto rates = board.uart->rates();
    auto transport = firmware::open_transport(*port, rates.front());
    if (!transport) return std::unexpected(transport.error());
    const auto version = firmware::query_version_at_bauds(**transport, rates, board.uart->query);
    if (!version) return std::unexpected(version.error());
    return KnownFirmware{version->version, "as the board says"};
  }
  if (board.firmware) return KnownFirmware{board.firmware->minimum, "as its profile demands"};
  return KnownFirmware{};
}

Json to_json(const PrecisionFit& fit) {
  Json json{{"precision", fit.precision},
            {"fit", to_text(fit.fit)},
            {"bytes", fit.bytes},
            {"mappings", fit.mappings},
            {"largest_mapping_bytes", fit.largest_mapping_bytes}};
  if (fit.shards > 0) json["shards"] = fit.shards;
  if (fit.failing_mapping > 0) {
    json["failing_mapping"] = {{"number", fit.failing_mapping}, {"bytes", fit.failing_bytes}};
  }
  if (!fit.reason.empty()) json["reason"] = fit.reason;
  return json;
}

std::string in_words(const PrecisionFit& fit) {
  std::string text = to_text(fit.fit);
  if (fit.fit == Fit::sharded) text += fmt::format(": {} shards", fit.shards);
  if (!fit.reason.empty() && fit.fit != Fit::after_defragment) text += "; " + fit.reason;
  return text;
}

void print_row(const PrecisionFit& fit) {
  fmt::print("  {:<10} {:>9} {:>9} {:>9}  {}\n", fit.precision, format_gb(fit.bytes), fit.mappings,
             fit.largest_mapping_bytes > 0 ? format_gb(fit.largest_mapping_bytes) : "",
             in_words(fit));
}

// What to do about it, one line each.
std::vector<std::string> ways_out(const runtime::ModelFit& fit, const probes::DeviceView& view,
                                  const probes::BoardProfile& board) {
  std::vector<std::string> ways;
  if (fit.asked.fit == Fit::yes) return ways;
  if (fit.asked.fit == Fit::after_defragment) {
    ways.emplace_back("flush and defragment the pool before the load, never after");
    return ways;
  }
  if (view.rules.max_run_bytes != 0 && board.npu && board.npu->mapping.large_pages_since) {
    ways.push_back(fmt::format("flash firmware {} or newer, which joins blocks into longer runs",
                               board.npu->mapping.large_pages_since->text()));
  }
  if (const PrecisionFit* other = fit.way_out()) {
    ways.push_back(fmt::format("quantize to {}: {} in {} {}, {}", other->precision,
                               format_gb(other->bytes), other->mappings,
                               other->mappings == 1 ? "mapping" : "mappings", to_text(other->fit)));
  }
  if (fit.asked.fit == Fit::sharded) {
    ways.push_back(
        fmt::format("reserve a region at boot, aligned to {}, and load {} shards into it",
                    format_gib(view.rules.shard_region_bytes), fit.asked.shards));
  }
  if (view.pool && view.pool->live_mappings > 0) {
    ways.emplace_back("stop the tasks that have mappings, then ask again");
  }
  if (ways.empty()) ways.emplace_back("a smaller model, or a board with more memory");
  return ways;
}

void print_memory(const probes::DeviceView& view) {
  const runtime::DeviceMemory& memory = view.memory;
  fmt::print("  Has        {} free, longest run {}", format_gb(memory.now.free_bytes),
             memory.now.largest_bytes > 0 ? format_gb(memory.now.largest_bytes) : "not known");
  if (memory.joined.largest_bytes != memory.now.largest_bytes) {
    fmt::print("; {} once flushed and defragmented", format_gb(memory.joined.largest_bytes));
  }
  fmt::print("\n");
  for (const std::string& note : view.notes) fmt::print("             {}\n", to_printable(note));
}

void print_text(const runtime::ModelShape& shape, const runtime::ModelFit& fit,
                const probes::DeviceView& view, const probes::BoardProfile& board,
                const KnownFirmware& firmware) {
  const PrecisionFit& asked = fit.asked;
  fmt::print("{} as {} on {}", to_printable(shape.name), asked.precision, to_printable(board.name));
  if (firmware.version) {
    fmt::print(", firmware {} ({})", to_printable(firmware.version->text()), firmware.from);
  }
  // No is final only where no other precision loads.
  const bool other = asked.fit == Fit::no && fit.way_out() != nullptr;
  fmt::print(
      "\n  Will load  {}\n",
      other ? fmt::format("only at {} or smaller", fit.way_out()->precision) : in_words(asked));
  fmt::print("  Asks for   {} in {} {}, the largest {}\n", format_gb(asked.bytes), asked.mappings,
             asked.mappings == 1 ? "mapping" : "mappings", format_gb(asked.largest_mapping_bytes));
  if (asked.failing_mapping > 0) {
    fmt::print("  Fails at   mapping {} of {}, {} bytes: {}\n", asked.failing_mapping,
               asked.mappings, asked.failing_bytes, asked.reason);
  }
  print_memory(view);
  for (const std::string& way : ways_out(fit, view, board)) fmt::print("  Do         {}\n", way);
  fmt::print("\n  {:<10} {:>9} {:>9} {:>9}  will it load\n", "precision", "bytes", "mappings",
             "largest");
  print_row(asked);
  for (const PrecisionFit& row : fit.others) print_row(row);
}

Result<int> run_fit(const FitOptions& options) {
  const auto shape = find_model_shape(options.model);
  if (!shape) return std::unexpected(shape.error());
  if (auto known = runtime::find_precision(options.precision); !known) {
    return std::unexpected(known.error());
  }
  const auto library = Library::open();
  if (!library) return std::unexpected(library.error());
  const auto session = Session::open(*library, options.session);
  if (!session) return std::unexpected(session.error());
  const probes::Bench& bench = (*session)->bench();
  const auto firmware = firmware_of(options, bench);
  if (!firmware) return std::unexpected(firmware.error());
  const auto view = probes::view_device(bench.machine, bench.board, firmware->version);
  if (!view) return std::unexpected(view.error());
  const auto fit = runtime::fit_model(*shape, options.precision, view->rules, view->memory);
  if (!fit) return std::unexpected(fit.error());
  const bool loads = fit->asked.fit == Fit::yes || fit->asked.fit == Fit::after_defragment;
  if (!options.json) {
    print_text(*shape, *fit, *view, bench.board, *firmware);
    return loads ? 0 : 1;
  }
  Json others = Json::array();
  for (const PrecisionFit& other : fit->others) others.push_back(to_json(other));
  const runtime::DeviceMemory& memory = view->memory;
  Json json{{"model", shape->name},
            {"board", bench.board.id},
            {"asked", to_json(fit->asked)},
            {"others", std::move(others)},
            {"memory",
             {{"free_bytes", memory.now.free_bytes},
              {"largest_run_bytes", memory.now.largest_bytes},
              {"joined_run_bytes", memory.joined.largest_bytes},
              {"reservable_bytes", memory.reservable_bytes}}},
            {"notes", view->notes},
            {"do", ways_out(*fit, *view, bench.board)}};
  if (firmware->version) json["firmware"] = firmware->version->text();
  if (fit->way_out() != nullptr) json["way_out"] = fit->way_out()->precision;
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
  return loads ? 0 : 1;
}

std::string names_of(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace

void add_model_commands(CLI::App& app, Invocation& invocation) {
  CLI::App* model = app.add_subcommand(
      "model", "models: what a file holds, one of random weights, will one load");
  model->require_subcommand(1);
  add_model_info(*model, invocation);
  add_model_synth(*model, invocation);
  add_model_tokenize(*model, invocation);
  auto options = std::make_shared<FitOptions>();
  CLI::App* fit = model->add_subcommand(
      "fit", "will a model load on a board, from its sizes, the board's rules and its memory now");
  fit->add_option("model", options->model,
                  names_of(runtime::shape_names()) + ", or a file with a model's sizes")
      ->required();
  fit->add_option("--precision", options->precision, names_of(runtime::precision_names()))
      ->capture_default_str();
  fit->add_option("--board", options->session.board, "board profile, by id or file");
  fit->add_option("--firmware", options->firmware,
                  "of the board; else it is asked at its port, else what its profile demands");
  fit->add_option("--port", options->session.port, "serial port of the board");
  fit->add_flag("--virtual", options->session.is_virtual, "on a virtual board");
  fit->add_option("--fault", options->session.faults, "break the virtual board (repeatable)")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  fit->add_flag("--json", options->json, "as JSON");
  fit->footer(
      "Weights alone: caches and activations come on top. Exit code 0: it loads, perhaps after\n"
      "flush and defragment; 1: not as asked.\n"
      "Examples:\n"
      "  assay model fit dense-27b --board m6-mini\n"
      "  assay model fit dense-27b --precision mixed-fp8 --board m6-mini --firmware 2.1.4-rc3\n"
      "  assay model fit my-model.json --virtual --json");
  fit->callback([options, &invocation] {
    const auto code = run_fit(*options);
    invocation.exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace assay::station
