#include "firmware/update/board_client.h"

#include <charconv>

#include "base/utf8.h"

namespace assay::firmware {
namespace {

constexpr unsigned most_slots = 16;

template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || at != text.data() + text.size()) return std::nullopt;
  return number;
}

// What stands behind `key`, in each line of the reply that begins with it. A boot message may have
// come in between.
Result<std::vector<std::string>> values_in(const AtClient& client, const std::string& command,
                                           std::string_view key, const AtReply& reply) {
  std::vector<std::string> values;
  for (const std::string& line : reply.lines) {
    if (line.starts_with(key)) values.push_back(line.substr(key.size()));
  }
  if (!reply.ok) {
    return fail(ErrorKind::unavailable, "this firmware does not know " + command, client.port());
  }
  if (values.empty()) {
    return fail(ErrorKind::protocol, command + " was answered without " + std::string(key),
                client.port());
  }
  return values;
}

Result<std::vector<std::string>> ask(AtClient& client, const std::string& command,
                                     std::string_view key, const AtOptions& options) {
  auto reply = client.command(command, options);
  // The question itself may have been damaged on its way.
  if (reply && !reply->ok) reply = client.command(command, options);
  if (!reply) return std::unexpected(reply.error());
  return values_in(client, command, key, *reply);
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::unexpected<Error> not_understood(const AtClient& client, const std::string& command,
                                      std::string_view value) {
  return fail(ErrorKind::protocol,
              command + " was answered with \"" + to_printable(value.substr(0, 80)) + "\"",
              client.port());
}

}  // namespace

Result<std::string> query_serial(AtClient& client, const AtOptions& options) {
  const auto values = ask(client, "AT+SN?", "SN:", options);
  if (!values) return std::unexpected(values.error());
  return to_printable(values->front().substr(0, 128));
}

Result<std::vector<SlotState>> query_slots(AtClient& client, const AtOptions& options) {
  const auto values = ask(client, "AT+SLOTS?", "SLOT:", options);
  if (!values) return std::unexpected(values.error());
  std::vector<SlotState> slots;
  for (const std::string& value : *values) {
    const auto parts = split(value);
    const auto number = number_in<unsigned>(parts[0]);
    if (parts.size() != 3 || number != slots.size() || slots.size() == most_slots) {
      return not_understood(client, "AT+SLOTS?", value);
    }
    slots.push_back({*number, parts[1] == "EMPTY" ? std::string() : to_printable(parts[1]),
                     parts[2] == "RUNNING"});
  }
  return slots;
}

Result<BootState> query_boot_state(AtClient& client, const AtOptions& options) {
  const auto values = ask(client, "AT+STATUS?", "STATUS:", options);
  if (!values) return std::unexpected(values.error());
  const auto parts = split(values->back());
  const auto slot = number_in<unsigned>(parts[0]);
  if (parts.size() != 3 || (!slot && parts[0] != "NONE")) {
    return not_understood(client, "AT+STATUS?", values->back());
  }
  return BootState{slot, parts[1] == "TRIAL", parts[2] == "REVERTED"};
}

Result<std::optional<std::int32_t>> query_temperature(AtClient& client, const AtOptions& options) {
  const auto reply = client.command("AT+TEMP?", options);
  if (reply && !reply->ok) return std::nullopt;
  const auto values = reply ? values_in(client, "AT+TEMP?", "TEMP:", *reply)
                            : Result<std::vector<std::string>>(std::unexpected(reply.error()));
  if (!values) return std::unexpected(values.error());
  const auto temperature = number_in<std::int32_t>(values->back());
  if (!temperature) return not_understood(client, "AT+TEMP?", values->back());
  return *temperature;
}

Result<> order(AtClient& client, const std::string& command, const AtOptions& options) {
  const auto reply = client.command(command, options);
  if (!reply) return std::unexpected(reply.error());
  if (reply->ok) return {};
  const std::string why =
      reply->lines.empty() ? "" : ": " + to_printable(reply->lines.back().substr(0, 80));
  return fail(ErrorKind::protocol, "the board refused " + command + why, client.port());
}

}  // namespace assay::firmware
