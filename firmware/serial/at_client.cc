#include "firmware/serial/at_client.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/utf8.h"

namespace assay::firmware {
namespace {

constexpr std::string_view version_key = "FW_VER:";
// Longer than an FTDI chip holds bytes back (16 ms), with room for a busy machine.
constexpr std::int64_t quiet_ns = 50 * ns_per_ms;
// A board that never stops talking is asked all the same.
constexpr std::int64_t quiet_limit_ns = 500 * ns_per_ms;

bool is_command(std::string_view text) {
  return !text.empty() && text.size() < 128 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::optional<FirmwareVersion> version_in(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const std::size_t key = line.find(version_key);
    if (key == std::string::npos) continue;
    std::string text = line.substr(key + version_key.size());
    text.erase(0, text.find_first_not_of(" \t"));
    text.erase(std::min(text.find_first_of(" \t,;"), text.size()));
    if (auto version = parse_semantic_version(text)) return FirmwareVersion{*version, text};
  }
  return std::nullopt;
}

// At most 80 characters of what came, safe to print.
std::string excerpt(const AtParser& parser) {
  std::string joined;
  for (const std::string& line : parser.lines()) joined.append(line).append(" ");
  joined.append(parser.unfinished().substr(0, 320));
  while (joined.ends_with(' ')) joined.pop_back();
  const std::string text = to_printable(joined.substr(0, 320));
  std::size_t characters = 0;
  std::size_t cut = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<std::uint8_t>(text[i]) & 0xC0) == 0x80) continue;
    if (++characters == 78) cut = i;
  }
  return characters > 80 ? text.substr(0, cut) + "..." : text;
}

Error no_reply(std::string_view text, const AtOptions& options, std::size_t received,
               const AtParser& last, const std::string& port) {
  if (received == 0) {
    return {ErrorKind::timeout,
            fmt::format("no answer to {} in {} {} (0 bytes received)", text, options.tries,
                        options.tries == 1 ? "try" : "tries"),
            port, "check that the board has power, that TX and RX are crossed, and the baud rate"};
  }
  if (last.state() == AtParser::State::error) {
    return {ErrorKind::unavailable,
            fmt::format("this firmware does not know {}: it got ERROR", text), port,
            "is it the right port, the right board profile?"};
  }
  const std::string seen = excerpt(last);
  if (last.echoed() && seen.empty()) {
    return {ErrorKind::protocol,
            fmt::format("answer not understood: {} came back and nothing else", text), port,
            "check that TX and RX are not joined, and that the board has finished booting"};
  }
  return {ErrorKind::protocol,
          fmt::format("answer not understood: \"{}\" ({} bytes received)", seen, received), port,
          "check the baud rate, the ground wire, and that this is the board's port"};
}

}  // namespace

Result<AtReply> AtClient::command(std::string_view text, const AtOptions& options) {
  return exchange(text, options, [](const AtParser& parser) {
    return parser.state() == AtParser::State::ok || parser.state() == AtParser::State::error;
  });
}

Result<FirmwareVersion> AtClient::query_version(std::string_view query, const AtOptions& options) {
  const auto reply = exchange(query, options, [](const AtParser& parser) {
    return version_in(parser.lines()).has_value();
  });
  if (!reply) return std::unexpected(reply.error());
  return *version_in(reply->lines);
}

Result<AtReply> AtClient::exchange(std::string_view text, const AtOptions& options, Accept accept) {
  if (!is_command(text)) {
    return fail(ErrorKind::usage, "not an AT command", to_printable(text.substr(0, 128)),
                "1 to 127 printable ASCII characters");
  }
  std::size_t received = 0;
  AtParser last(text);
  for (int attempts = 0; attempts < std::max(options.tries, 1); ++attempts) {
    AtParser parser(text);
    const bool end_transfer = options.end_transfer || attempts > 0;
    if (auto done = attempt(text, options, end_transfer, &parser); !done) {
      return std::unexpected(done.error());
    }
    if (accept(parser)) {
      // An answer to an earlier try may still be on its way.
      in_step_ = in_step_ && attempts == 0;
      return AtReply{parser.state() == AtParser::State::ok, parser.lines()};
    }
    in_step_ = false;
    received += parser.received();
    // The try that brought something says more than silence after it.
    if (parser.received() > 0) last = std::move(parser);
  }
  return std::unexpected(no_reply(text, options, received, last, transport_.name()));
}

// One try: the parser holds what came, which is for the caller to judge.
Result<> AtClient::attempt(std::string_view text, const AtOptions& options, bool end_transfer,
                           AtParser* parser) {
  if (!in_step_) {
    if (auto quiet = get_in_step(end_transfer, options.cancel); !quiet) return quiet;
  }
  behind_.clear();
  if (auto dropped = transport_.discard_input(); !dropped) return dropped;
  const std::int64_t deadline = monotonic_ns() + options.timeout_ns;
  if (auto sent = transport_.write(bytes_of(std::string(text) + "\r"), deadline); !sent) {
    return sent;
  }
  while (parser->state() == AtParser::State::collecting) {
    std::uint8_t buffer[512];
    const auto count = read_until(buffer, deadline, options.cancel);
    if (!count && count.error().kind == ErrorKind::timeout) {
      in_step_ = false;
      return {};
    }
    if (!count) return std::unexpected(count.error());
    const std::size_t taken = parser->feed({buffer, *count});
    behind_.assign(buffer + taken, buffer + *count);
  }
  in_step_ = parser->state() != AtParser::State::overflow;
  return {};
}

// Ends whatever half line the board has in its buffer, and lets it finish what it is saying.
Result<> AtClient::get_in_step(bool end_transfer, const CancelToken* cancel) {
  const std::int64_t limit = monotonic_ns() + quiet_limit_ns;
  const std::string_view opening = end_transfer ? "\x18\x18\x18\x18\r" : "\r";
  if (auto sent = transport_.write(bytes_of(opening), limit); !sent) return sent;
  while (monotonic_ns() < limit) {
    std::uint8_t buffer[512];
    const auto count = read_until(buffer, std::min(monotonic_ns() + quiet_ns, limit), cancel);
    if (!count && count.error().kind == ErrorKind::timeout) break;
    if (!count) return std::unexpected(count.error());
  }
  in_step_ = true;
  return {};
}

Result<std::size_t> AtClient::read_until(std::span<std::uint8_t> buffer, std::int64_t deadline_ns,
                                         const CancelToken* cancel) {
  for (;;) {
    if (cancel && cancel->cancelled()) {
      return fail(ErrorKind::cancelled, "cancelled while waiting for the board", transport_.name());
    }
    // A board that never stops talking has a deadline too.
    if (monotonic_ns() >= deadline_ns) {
      return fail(ErrorKind::timeout, "no reply in time", transport_.name());
    }
    const std::int64_t slice =
        cancel ? std::min(deadline_ns, monotonic_ns() + cancel_interval_ns) : deadline_ns;
    auto count = transport_.read(buffer, slice);
    const bool timed_out = !count && count.error().kind == ErrorKind::timeout;
    if (!timed_out || slice == deadline_ns) return count;
  }
}

bool is_no_answer(const Error& error) {
  return error.kind == ErrorKind::unavailable || error.kind == ErrorKind::protocol ||
         error.kind == ErrorKind::timeout;
}

bool says_more(const Error& error, const Error& than) {
  if (error.kind == than.kind) return false;
  return than.kind == ErrorKind::timeout ||
         (than.kind == ErrorKind::protocol && error.kind == ErrorKind::unavailable);
}

Result<FirmwareVersion> query_version_at_bauds(Transport& transport, const std::vector<int>& bauds,
                                               std::string_view query, const AtOptions& options) {
  std::optional<Error> best;
  for (const int baud : bauds) {
    if (auto set = transport.set_baud(baud); !set) return std::unexpected(set.error());
    AtClient client(transport);
    auto version = client.query_version(query, options);
    if (version) {
      version->baud = baud;
      return version;
    }
    if (!is_no_answer(version.error())) return version;
    if (!best || says_more(version.error(), *best)) best = version.error();
  }
  if (best) return std::unexpected(*best);
  return fail(ErrorKind::usage, "no baud rate to try", transport.name());
}

}  // namespace assay::firmware
