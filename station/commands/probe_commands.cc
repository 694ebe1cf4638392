#include <fmt/core.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "base/atomic_file.h"
#include "probes/catalog.h"
#include "reports/json/report.h"
#include "station/commands/commands.h"
#include "station/commands/diagnose_command.h"
#include "station/commands/pcie_options.h"
#include "station/commands/terminal_prompt.h"
#include "station/run/execute.h"
#include "station/run/run_folder.h"
#include "station/run/runner.h"
#include "station/run/signals.h"
#include "tui/text.h"

namespace assay::station {
namespace {

// One probe as a command. Its parameters are its options; `aliases` are what people type already.
struct ProbeCommand {
  const char* command;  // "mem", or below another one: "fw query"
  const char* use;
  const char* example;
  std::map<std::string, std::string> aliases;   // parameter -> option
  std::map<std::string, std::string> defaults;  // parameter -> value
  std::vector<reports::Limit> limits;
  // Adds options of its own, with which it does something else than a run.
  Instead (*add_options)(CLI::App&) = nullptr;
};

std::vector<ProbeCommand> probe_commands() {
  const reports::Limit no_errors{
      "errors", {reports::make_validator(reports::Comparison::equal, std::int64_t{0}, "1")}};
  return {
      {"mem",
       "memory.test",
       "  assay mem --size 85% --time 8h                        the default tests, over night\n"
       "  assay mem --tests march-c-,random --size 32G --iter 100\n"
       "  assay mem --tests bit-fade --hold 5min --size available\n"
       "  assay mem --pattern 0xAAAAAAAA --size 4G --iter 3      what  npu_mem_test  does",
       {{"tests", "--tests,--pattern,-p"}, {"iterations", "--iter,-i"}},
       {{"tests", "march-c-,random,address"}, {"size", "available"}},
       {no_errors}},
      {"rowhammer",
       "memory.row_hammer",
       "  sudo assay rowhammer --size 1G --pairs 64\n"
       "Bits of other processes may flip: not on a machine whose data matter.",
       {},
       {{"size", "256M"}},
       {{"flips", {reports::make_validator(reports::Comparison::equal, std::int64_t{0}, "1")}}}},
      {"pcie",
       "pcie.link",
       "  sudo assay pcie --board m6-mini                       its links against its profile\n"
       "  assay pcie --from DUMP                                what  sudo lspci -xxxx > DUMP  "
       "saved\n"
       "  sudo assay pcie --retrain 0000:00:02.0",
       {},
       {},
       {},
       add_pcie_options},
      {"thermal",
       "thermal.read",
       "  assay thermal                                         all that this machine has, now\n"
       "  assay thermal --time 30s                              and whether a sensor sticks or "
       "jumps\n"
       "  assay thermal watch --help, assay thermal calibrate --help",
       {},
       {},
       {}},
      {"thermal watch",
       "thermal.watch",
       "  assay thermal watch --board m6-mini --time 12min      what it prints of a good board is "
       "what\n"
       "                                                        a profile calls \"golden\"\n"
       "  assay thermal watch --virtual --time 15s --fault thermal-gap",
       {},
       {},
       {}},
      {"thermal calibrate",
       "thermal.calibrate",
       "  sudo assay thermal calibrate --board m6-mini          asks for readings of a "
       "thermometer\n"
       "  assay thermal calibrate --pairs readings.csv --config npu.conf --dry-run\n"
       "  assay thermal calibrate --board m6-mini --thermometer /dev/ttyUSB1@9600 --accuracy 0.3C\n"
       "The file's other lines, their order and its mode stay; the file before is kept beside it "
       "(.bak).",
       {},
       {},
       {}},
      {"diagnose",
       "log.diagnose",
       "  assay diagnose kern.log                               what a saved log tells of faults\n"
       "  journalctl -k -b -1 | assay diagnose -                the start before this one\n"
       "  adb logcat -d -b all | assay diagnose - --json\n"
       "  sudo assay diagnose                                   this machine's own log, as a step\n"
       "Of a file: exit code 0 nothing found, 1 findings, 2 it cannot be read.",
       {},
       {},
       {},
       add_diagnose_options},
      {"frag", "memory.fragmentation", "  assay frag", {}, {}, {}},
      {"fw query",
       "firmware.query",
       "  assay fw query --board m6-mini --port /dev/ttyUSB0\n"
       "  assay fw query --virtual --fault fw-old",
       {},
       {},
       {}},
      {"fw flash",
       "firmware.flash",
       "  assay fw flash npu-firmware-v2.3.1.bin --board m6-mini\n"
       "  npu_flash_tool --upgrade FILE --board BOARD             the same, by the name it has "
       "elsewhere\n"
       "  assay fw flash --virtual --fault fw-old               the image that the profile names",
       {{"image", "--upgrade,image"}},
       {},
       {}},
      {"usb flash",
       "firmware.dfu",
       "  assay usb flash npu-firmware-v2.3.1.bin --board m6-mini\n"
       "  assay usb flash vendor.dfu --device 1209:a551 --usb-serial 0042\n"
       "Before it writes: the image's board, hash and signature, or the suffix of a file for DFU.\n"
       "DFU tells neither version nor temperature: an older image is not refused here as it is by\n"
       "  assay fw flash\n"
       "A new image runs on trial. With the board's serial port, found by its profile or named "
       "with\n"
       "--port, it is confirmed there. Without, the next start ends the trial, unless before that\n"
       "  assay fw flash npu-firmware-v2.3.1.bin --board m6-mini   confirms the image that runs",
       {{"image", "--image,image"}},
       {},
       {}},
      {"workload",
       "workload.generate",
       "  assay workload --model dense-27b --precision mixed-fp8 --layers 1 --tokens 16 --virtual",
       {},
       {{"model", "moe-small"}, {"precision", "f16"}, {"prompt_tokens", "32"}, {"tokens", "32"}},
       {}},
  };
}

// The flags of a parameter: "--pattern,-p".
std::string flags_of(const ProbeCommand& command, const std::string& parameter) {
  if (const auto alias = command.aliases.find(parameter); alias != command.aliases.end()) {
    return alias->second;
  }
  std::string flags = "--" + parameter;
  for (char& c : flags) c = c == '_' ? '-' : c;
  return flags;
}

// "a,b" as a list.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// An error at a parameter, told at the option that the person typed.
Error at_option(const ProbeCommand& command, const std::string& command_line, Error error) {
  for (const auto& spec : probes::find_probe(command.use)->parameters) {
    if (error.where != spec.name) continue;
    const std::vector<std::string> flags = split(flags_of(command, spec.name));
    const auto typed = std::find_if(flags.begin(), flags.end(), [&](const std::string& flag) {
      const std::size_t at = command_line.find(" " + flag);
      if (at == std::string::npos) return false;
      const std::size_t end = at + 1 + flag.size();
      return end == command_line.size() || command_line[end] == ' ' || command_line[end] == '=';
    });
    error.where = typed == flags.end() ? flags.front() : *typed;
    break;
  }
  return error;
}

struct ProbeOptions {
  SessionOptions session;
  std::map<std::string, std::vector<std::string>> parameters;
  std::string out;
  bool json = false;
};

// A folder for a run that nobody asked to keep.
class TemporaryFolder {
 public:
  Result<std::string> make() {
    const char* base = getenv("TMPDIR");
    std::string path =
        std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/assay-run-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return fail_errno(errno, "cannot make a folder", path);
    path_ = path;
    return path;
  }
  TemporaryFolder() = default;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

 private:
  std::string path_;
};

// Where the run's files go: the folder asked for, else the temporary one.
Result<std::string> choose_folder(const std::string& out, TemporaryFolder& temporary) {
  if (out.empty()) return temporary.make();
  if (auto made = make_folders(out); !made) return std::unexpected(made.error());
  return out;
}

Result<nlohmann::json> as_json(const probes::ParameterSpec& spec,
                               const std::vector<std::string>& given) {
  if (spec.type == probes::ParameterType::text_list) {
    auto list = nlohmann::json::array();
    for (const std::string& names : given) {
      for (std::string& name : split(names)) {
        if (name.empty()) {
          return fail(ErrorKind::usage, "\"" + names + "\" has an empty name in it", spec.name,
                      "write names with one comma between two");
        }
        list.push_back(std::move(name));
      }
    }
    return list;
  }
  if (spec.type == probes::ParameterType::flag) return nlohmann::json(given.back() == "true");
  if (spec.type != probes::ParameterType::count) return nlohmann::json(given.back());
  auto number = nlohmann::json::parse(given.back(), nullptr, false);
  if (!number.is_number_integer()) {
    return fail(ErrorKind::usage, "\"" + given.back() + "\" is not a whole number", spec.name);
  }
  return number;
}

Result<Plan> make_plan(const ProbeCommand& command, const ProbeOptions& options,
                       const std::string& command_line) {
  const probes::Probe* probe = probes::find_probe(command.use);
  PlanStep step{.id = command.use, .probe = probe, .limits = command.limits};
  for (const probes::ParameterSpec& spec : probe->parameters) {
    std::vector<std::string> given;
    if (const auto it = options.parameters.find(spec.name); it != options.parameters.end()) {
      given = it->second;
    }
    if (given.empty()) {
      const auto fallback = command.defaults.find(spec.name);
      if (fallback == command.defaults.end()) continue;
      given = split(fallback->second);
    }
    const auto json = as_json(spec, given);
    if (!json) return std::unexpected(at_option(command, command_line, json.error()));
    auto value = parse_parameter(spec, *json);
    if (!value) {
      value.error().where = spec.name;
      return std::unexpected(at_option(command, command_line, value.error()));
    }
    step.parameters.set(spec.name, std::move(*value));
  }
  if (probe->check) {
    if (auto checked = probe->check(step.parameters); !checked) {
      return std::unexpected(at_option(command, command_line, checked.error()));
    }
  }
  Plan plan;
  plan.id = command.command;
  plan.name = probe->summary;
  plan.steps.push_back(std::move(step));
  return plan;
}

Result<int> run(const ProbeCommand& command, const ProbeOptions& options,
                const std::string& command_line) {
  const auto plan = make_plan(command, options, command_line);
  if (!plan) return std::unexpected(plan.error());
  const auto library = Library::open();
  if (!library) return std::unexpected(library.error());
  const auto signals = take_signals(SignalsFor::lines);
  if (!signals) return std::unexpected(signals.error());
  TerminalPrompt prompt;
  SessionOptions session_options = options.session;
  session_options.prompt = &prompt;
  const auto session = Session::open(*library, session_options);
  if (!session) return std::unexpected(session.error());
  const PlanStep& step = plan->steps.front();
  if (auto ready = preflight(step, (*session)->bench()); !ready) {
    return std::unexpected(at_option(command, command_line, ready.error()));
  }
  TemporaryFolder temporary;
  const auto folder = choose_folder(options.out, temporary);
  if (!folder) return std::unexpected(folder.error());
  const std::string serial = (*session)->own_serial();
  const auto done = execute(**session, *plan,
                            {.serial = serial.empty() ? unknown_serial : serial,
                             .command_line = command_line,
                             .folder = *folder,
                             .front_end = options.json ? FrontEnd::quiet : FrontEnd::lines,
                             .signal_fd = signals->get()});
  if (!done) return std::unexpected(done.error());
  const reports::Verdict verdict = verdict_of(done->summary, false);
  if (options.json) {
    fmt::print("{}", reports::report_json(done->summary));
  } else {
    for (const std::string& line : tui::step_figures(done->summary.steps.front())) {
      fmt::print("{}\n", line);
    }
    fmt::print("{}  {}\n", to_word(verdict), verdict_reason(done->summary, false));
  }
  // What only the board could tell to be wrong use: an older image, one that is for another device.
  const auto& errors = done->summary.steps.front().errors;
  const bool wrong_use = std::any_of(errors.begin(), errors.end(), [](const auto& error) {
    return error.symptom == symptom_of(ErrorKind::usage) ||
           error.symptom == symptom_of(ErrorKind::bad_file);
  });
  return verdict == reports::Verdict::incomplete && wrong_use ? 2 : exit_code(verdict);
}

// "assay thermal --virtual calibrate": an option of the command above, which would be lost.
Result<> nothing_in_front(CLI::App& command) {
  for (const CLI::Option* option : command.get_parent()->get_options()) {
    if (option->count() == 0) continue;
    return fail(ErrorKind::usage, "stands in front of the command", option->get_name(),
                "write it behind " + command.get_name());
  }
  return {};
}

void add(CLI::App& app, Invocation& invocation, const ProbeCommand& probe_command) {
  const probes::Probe* probe = probes::find_probe(probe_command.use);
  auto options = std::make_shared<ProbeOptions>();
  const std::string name = probe_command.command;
  const std::size_t space = name.find(' ');
  CLI::App& parent = space == std::string::npos ? app : *app.get_subcommand(name.substr(0, space));
  CLI::App* command = parent.add_subcommand(name.substr(space + 1), probe->summary);
  for (const probes::ParameterSpec& spec : probe->parameters) {
    std::string help = spec.help;
    if (const auto fallback = probe_command.defaults.find(spec.name);
        fallback != probe_command.defaults.end()) {
      help += " [" + fallback->second + "]";
    }
    if (spec.type == probes::ParameterType::flag) {
      command->add_flag_callback(
          flags_of(probe_command, spec.name),
          [options, name = spec.name] { options->parameters[name] = {"true"}; }, help);
      continue;
    }
    CLI::Option* option = command->add_option(flags_of(probe_command, spec.name),
                                              options->parameters[spec.name], help);
    option->expected(1)->allow_extra_args(false)->multi_option_policy(
        spec.type == probes::ParameterType::text_list ? CLI::MultiOptionPolicy::TakeAll
                                                      : CLI::MultiOptionPolicy::Throw);
  }
  command->add_option("--board", options->session.board, "board profile, by id or file");
  command->add_flag("--virtual", options->session.is_virtual, "on a virtual board");
  command->add_option("--fault", options->session.faults, "break the virtual board (repeatable)")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--port", options->session.port, "serial port of the board");
  command->add_option("--out", options->out, "keep journal.jsonl and report.json in this folder");
  command->add_flag("--json", options->json, "print the report as JSON");
  command->footer(std::string("Examples:\n") + probe_command.example);
  const Instead instead =
      probe_command.add_options != nullptr ? probe_command.add_options(*command) : nullptr;
  command->callback([options, probe_command, instead, command, &invocation] {
    // A command below this one was typed, and did the work.
    if (!command->get_subcommands().empty()) return;
    if (auto alone = nothing_in_front(*command); !alone) {
      invocation.exit_code = report_error(alone.error());
      return;
    }
    auto code = instead ? instead(options->json) : std::nullopt;
    if (!code) code = run(probe_command, *options, invocation.command_line);
    invocation.exit_code = *code ? **code : report_error(code->error());
  });
}

}  // namespace

void add_probe_commands(CLI::App& app, Invocation& invocation) {
  for (const ProbeCommand& command : probe_commands()) add(app, invocation, command);
}

}  // namespace assay::station
