#include <CLI/CLI.hpp>
#include <clocale>
#include <cstdio>
#include <exception>

#include "station/commands/commands.h"

namespace assay::station {

int report_error(const Error& error) {
  std::fprintf(stderr, "assay: %s\n", error.text().c_str());
  switch (error.kind) {
    case ErrorKind::usage:
    case ErrorKind::bad_file:
      return 2;
    case ErrorKind::cancelled:
      return 130;
    default:
      return 3;
  }
}

namespace {

int run(int argc, char** argv) {
  std::setlocale(LC_CTYPE, "");
  CLI::App app("Acceptance testing and bring-up of edge AI boards.", "assay");
  app.set_version_flag("--version", "assay " ASSAY_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Start here:\n"
      "  assay run --virtual        a whole run on a virtual board\n"
      "  assay COMMAND --help       examples of each command");
  Invocation invocation;
  for (int i = 0; i < argc; ++i) {
    if (i > 0) invocation.command_line += ' ';
    invocation.command_line += argv[i];
  }
  add_run_command(app, invocation);
  add_watch_command(app, invocation);
  add_report_command(app, invocation);
  add_library_commands(app, invocation);
  add_probe_commands(app, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // Help and version are "errors" of this library with code 0; the rest is wrong use.
    return app.exit(e) == 0 ? 0 : 2;
  }
  // A result that could not be written was not given.
  if (std::fflush(stdout) != 0) {
    return report_error({ErrorKind::io, "cannot write to standard output", "", ""});
  }
  return invocation.exit_code;
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
