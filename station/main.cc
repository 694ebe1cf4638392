#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <clocale>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "station/commands/commands.h"

namespace assay::station {
namespace {

// Names that people of the boards' world type already: links to this program.
struct Link {
  const char* name;
  std::vector<std::string> command;
};
const std::vector<Link>& links() {
  static const std::vector<Link> all = {{"npu_mem_test", {"mem"}},
                                        {"npu_flash_tool", {"fw", "flash"}},
                                        {"npu_reset", {"fw", "reset"}}};
  return all;
}

// Whoever starts us may have closed them. The next file opened would take their number, and what is
// meant for a person would land in it. Standard output is opened so that writing to it fails.
void occupy_standard_descriptors() {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(wanted, F_GETFD) >= 0) continue;
    // The lowest number that is free, which is this one.
    (void)open("/dev/null", wanted == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// "--size=": the library would take the next argument for its value.
bool has_no_value(const std::string& argument) {
  return argument.starts_with("--") && argument.find('=') == argument.size() - 1;
}

// The command that was typed, as far as it was understood: "assay fw flash".
Error wrong_use(const CLI::App& app, const std::string& path, const CLI::ParseError& error) {
  const auto typed = app.get_subcommands();
  if (!typed.empty()) {
    return wrong_use(*typed.front(), path + " " + typed.front()->get_name(), error);
  }
  std::string what = error.what();
  // Told by the library as a command that is missing.
  const auto rest = app.remaining();
  if (error.get_name() == "RequiredError" && !rest.empty()) what = "no command " + rest.front();
  return {ErrorKind::usage, std::move(what), "", "see " + path + " --help"};
}

// A result that could not be written was not given.
int flushed(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  return report_error({ErrorKind::io, "cannot write to standard output", "", ""});
}

int run(int argc, char** argv) {
  occupy_standard_descriptors();
  std::setlocale(LC_CTYPE, "");
  CLI::App app("Acceptance testing and bring-up of edge AI boards.", "assay");
  app.set_version_flag("--version", "assay " ASSAY_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Start here:\n"
      "  assay run --virtual        a whole run on a virtual board\n"
      "  assay COMMAND --help       examples of each command");
  Invocation invocation;
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const std::string name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "";
  for (const auto& [link, command] : links()) {
    if (name == link) arguments.insert(arguments.begin(), command.begin(), command.end());
  }
  for (int i = 0; i < argc; ++i) {
    if (i > 0) invocation.command_line += ' ';
    invocation.command_line += argv[i];
  }
  add_run_command(app, invocation);
  add_watch_command(app, invocation);
  add_report_command(app, invocation);
  add_library_commands(app, invocation);
  add_firmware_commands(app, invocation);
  add_usb_commands(app, invocation);
  add_model_commands(app, invocation);
  add_probe_commands(app, invocation);
  try {
    if (const auto empty = std::find_if(arguments.begin(), arguments.end(), has_no_value);
        empty != arguments.end()) {
      return report_error({ErrorKind::usage, "a value is missing behind the =", *empty, ""});
    }
    // The library takes them from the end.
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
  } catch (const CLI::ParseError& e) {
    // Help and version are "errors" of this library with code 0; the rest is wrong use.
    if (e.get_exit_code() != 0) {
      return report_error(wrong_use(app, app.get_name(), e));
    }
    std::ostringstream out;
    app.exit(e, out, out);
    std::fputs(out.str().c_str(), stdout);
    return flushed(0);
  }
  return flushed(invocation.exit_code);
}

}  // namespace
}  // namespace assay::station

int main(int argc, char** argv) {
  try {
    return assay::station::run(argc, argv);
  } catch (const std::exception& e) {
    // Out of memory, a broken locale: nothing that a caller could have handled.
    std::fprintf(stderr, "assay: %s\n", e.what());
    return 3;
  }
}
