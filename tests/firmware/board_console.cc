#include "tests/firmware/board_console.h"

#include <utility>

#include "base/clock.h"

namespace assay::test {
namespace {

constexpr std::int64_t answer_timeout_ns = 60 * ns_per_s;
// A board that does not take an update says so; nothing of that is an invitation.
constexpr std::int64_t start_timeout_ns = 5 * ns_per_s;
constexpr std::int64_t slice_ns = 20 * ns_per_ms;
constexpr std::size_t most_boot_text = 1 << 16;

}  // namespace

Result<std::unique_ptr<BoardConsole>> BoardConsole::open(const std::string& port,
                                                         const CancelToken* cancel) {
  auto transport = firmware::open_transport(port, 115200);
  if (!transport) return std::unexpected(transport.error());
  if (auto dropped = (*transport)->discard_input(); !dropped) {
    return std::unexpected(dropped.error());
  }
  return std::unique_ptr<BoardConsole>(new BoardConsole(std::move(*transport), cancel));
}

BoardConsole::BoardConsole(std::unique_ptr<firmware::Transport> transport,
                           const CancelToken* cancel)
    : transport_(std::move(transport)), cancel_(cancel) {
  client_.emplace(*transport_);
}

Result<std::vector<std::string>> BoardConsole::ask(const std::string& command) {
  // A chip that erases, or a machine that is busy, answers late.
  auto reply =
      client_->command(command, {.timeout_ns = 20 * ns_per_s, .tries = 2, .cancel = cancel_});
  if (!reply) return std::unexpected(reply.error());
  if (!reply->ok) return fail(ErrorKind::protocol, command + " got ERROR", transport_->name());
  return std::move(reply->lines);
}

Result<std::string> BoardConsole::version() {
  auto version = client_->query_version(
      "AT+NPUCFG?", {.timeout_ns = 20 * ns_per_s, .tries = 2, .cancel = cancel_});
  if (!version) return std::unexpected(version.error());
  return version->text;
}

Result<std::string> BoardConsole::read_boot() {
  const std::int64_t deadline = monotonic_ns() + answer_timeout_ns;
  std::string text;
  for (;;) {
    const std::size_t begin = text.find("boot: ");
    const std::size_t end = text.find("\r\n", begin);
    if (begin != std::string::npos && end != std::string::npos) {
      client_.emplace(*transport_);
      return text.substr(begin, end - begin);
    }
    std::uint8_t bytes[512];
    const auto count = transport_->read(bytes, std::min(deadline, monotonic_ns() + slice_ns));
    if (count) {
      text.append(reinterpret_cast<const char*>(bytes), *count);
      if (text.size() > most_boot_text) break;
      continue;
    }
    if (count.error().kind != ErrorKind::timeout) return std::unexpected(count.error());
    if (cancel_ != nullptr && cancel_->cancelled()) {
      return fail(ErrorKind::cancelled, "cancelled while the board boots", transport_->name());
    }
    if (monotonic_ns() >= deadline) break;
  }
  return fail(ErrorKind::timeout, "no boot was seen", transport_->name());
}

Result<> BoardConsole::write_line(const std::string& command) {
  if (auto dropped = transport_->discard_input(); !dropped) return dropped;
  // The line end before it ends what may be there of another one.
  const std::string line = '\r' + command + '\r';
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(line.data());
  return transport_->write({bytes, line.size()}, monotonic_ns() + answer_timeout_ns);
}

Result<std::string> BoardConsole::reset() {
  // Not by the client: what follows the OK would be lost.
  if (auto sent = write_line("AT+RESET"); !sent) return std::unexpected(sent.error());
  return read_boot();
}

Result<std::string> BoardConsole::flash(const std::vector<std::uint8_t>& image,
                                        std::function<void(std::uint64_t)> on_progress) {
  // Not by the client: the receiver's first 'C' would be lost with the answer, and the next one
  // comes a second later.
  if (auto begun = write_line("AT+UPDATE"); !begun) return std::unexpected(begun.error());
  auto sent = firmware::send_file(*transport_, "npu.bin", image,
                                  {.start_timeout_ns = start_timeout_ns,
                                   .cancel = cancel_,
                                   .on_progress = std::move(on_progress)});
  // What was on the line meanwhile was no command: one that starts afresh clears it away.
  client_.emplace(*transport_);
  const bool refused = !sent && (sent.error().kind == ErrorKind::protocol ||
                                 sent.error().kind == ErrorKind::timeout);
  if (!sent && !refused) return std::unexpected(sent.error());
  const auto verdict = ask("AT+UPDATE?");
  if (!verdict) return std::unexpected(verdict.error());
  constexpr std::string_view prefix = "UPDATE:";
  if (verdict->empty() || !verdict->back().starts_with(prefix)) {
    return fail(ErrorKind::protocol, "no verdict of the update", transport_->name());
  }
  return verdict->back().substr(prefix.size());
}

}  // namespace assay::test
