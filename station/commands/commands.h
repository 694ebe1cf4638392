// The subcommands of `assay`. Each adds itself to the application; its callback leaves the exit
// code in `exit_code`.
#pragma once

#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace assay::station {

struct Invocation {
  std::string command_line;  // as typed, for the journal
  int exit_code = 0;
};

void add_run_command(CLI::App& app, Invocation& invocation);
void add_watch_command(CLI::App& app, Invocation& invocation);
void add_report_command(CLI::App& app, Invocation& invocation);
void add_library_commands(CLI::App& app, Invocation& invocation);   // boards, plans
void add_firmware_commands(CLI::App& app, Invocation& invocation);  // fw
void add_model_commands(CLI::App& app, Invocation& invocation);     // model
void add_usb_commands(CLI::App& app, Invocation& invocation);       // usb
void add_image_commands(CLI::App& fw, Invocation& invocation);      // fw inspect, pack, sign
// mem, pcie, ...; also those below fw, which must be there.
void add_probe_commands(CLI::App& app, Invocation& invocation);

// Prints "assay: ..." on standard error and returns the exit code that the error's kind has: 2 for
// wrong use and bad files, 130 when cancelled, else 3.
int report_error(const Error& error);

}  // namespace assay::station
