#include "probes/firmware/trial_uart.h"

#include <fmt/core.h>

#include <utility>

#include "firmware/serial/transport.h"
#include "firmware/update/board_client.h"
#include "probes/firmware/uart_port.h"

namespace assay::probes {
namespace {

using reports::Severity;

// The update goes on without it.
std::nullopt_t without_uart(StepContext& context, const Error& error) {
  context.recorder.log(Severity::info, "the versions are not read over the UART: " + error.text());
  return std::nullopt;
}

// A firmware that does not know the question has no trials.
Result<bool> is_on_trial(firmware::BoardLink& link) {
  firmware::AtClient client(link.transport());
  const auto state = firmware::query_boot_state(client, link.at());
  if (state) return state->on_trial;
  if (state.error().kind == ErrorKind::unavailable) return false;
  return std::unexpected(state.error());
}

Result<std::string> version_before(StepContext& context, firmware::BoardLink& link) {
  const auto version = link.find();
  if (!version) return std::unexpected(version.error());
  const auto on_trial = is_on_trial(link);
  if (!on_trial) return std::unexpected(on_trial.error());
  if (!*on_trial) return version->text;
  context.recorder.log(
      Severity::warning,
      fmt::format("{} is on trial; the board is reset and goes back to the image before",
                  version->text));
  const auto back = link.reset();
  if (!back) return std::unexpected(back.error());
  return back->text;
}

}  // namespace

Result<std::optional<TrialUart>> open_trial_uart(StepContext& context) {
  const Bench& bench = context.bench;
  if (!bench.board.uart) return std::nullopt;
  const auto port = choose_port(bench);
  if (!port) return without_uart(context, port.error());
  const UartProfile& uart = *bench.board.uart;
  TrialUart opened{
      firmware::BoardLink(
          [path = *port, baud = uart.baud.front()] { return firmware::open_transport(path, baud); },
          {.query = uart.query, .bauds = uart.rates(), .cancel = &context.cancel}),
      {}};
  if (auto done = opened.link.open(); !done) {
    if (!bench.uart_port.empty()) return std::unexpected(done.error());
    return without_uart(context, done.error());
  }
  context.recorder.progress(0, 0, "asking " + *port);
  const auto version = version_before(context, opened.link);
  if (version) {
    opened.version = *version;
  } else if (version.error().kind == ErrorKind::cancelled) {
    return std::unexpected(version.error());
  } else {
    // In DFU mode no firmware answers.
    context.recorder.log(Severity::warning,
                         "which firmware runs is not known: " + version.error().text());
  }
  return opened;
}

Result<> confirm_trial(TrialUart& uart, const SemanticVersion& version) {
  const auto now = uart.link.come_back();
  if (!now) return std::unexpected(now.error());
  if (now->version != version) {
    return fail(ErrorKind::timeout,
                fmt::format("the board runs {}, not {}", now->text, version.text()),
                uart.link.port());
  }
  uart.version = now->text;
  firmware::AtClient client(uart.link.transport());
  if (auto done = firmware::order(client, "AT+CONFIRM", uart.link.at()); !done) return done;
  const auto state = firmware::query_boot_state(client, uart.link.at());
  if (!state) return std::unexpected(state.error());
  if (!state->on_trial) return {};
  return fail(ErrorKind::protocol, "the board did not keep the new image", uart.link.port());
}

void measure_versions(StepContext& context, const std::string& before, const std::string& now) {
  std::vector<reports::Validator> limits;
  if (const auto& firmware = context.bench.board.firmware) {
    limits.push_back(reports::make_validator(reports::Comparison::greater_or_equal,
                                             firmware->minimum.text(), "", true));
  }
  if (!before.empty()) context.recorder.measure("version_before", before, "");
  context.recorder.measure("version", now, "", std::move(limits));
}

}  // namespace assay::probes
