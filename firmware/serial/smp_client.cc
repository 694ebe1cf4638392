#include "firmware/serial/smp_client.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "firmware/device/sha256.h"

namespace assay::firmware {
namespace {

using nlohmann::json;

constexpr std::uint16_t group_os = 0;
constexpr std::uint16_t group_image = 1;
constexpr std::size_t header_bytes = 8;
// What the rest of an upload's packet takes beside the data: names, lengths, the hash.
constexpr std::uint32_t upload_overhead = 96;
// MCUboot's default, for boards that do not tell.
constexpr std::uint32_t default_packet_bytes = 512;

const char* to_words(std::int64_t rc) {
  switch (rc) {
    case 1:
      return "unknown error";
    case 2:
      return "no memory";
    case 3:
      return "invalid request";
    case 5:
      return "no such entry";
    case 8:
      return "not supported";
    case 10:
      return "busy";
    default:
      return "error";
  }
}

std::int64_t number_of(const json& body, const char* key, std::int64_t otherwise) {
  const auto found = body.find(key);
  return found != body.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}
std::string text_of(const json& body, const char* key) {
  const auto found = body.find(key);
  return found != body.end() && found->is_string() ? to_printable(found->get<std::string>())
                                                   : std::string();
}
bool flag_of(const json& body, const char* key) {
  const auto found = body.find(key);
  return found != body.end() && found->is_boolean() && found->get<bool>();
}
json binary(std::span<const std::uint8_t> bytes) {
  return json::binary(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

}  // namespace

Result<json> SmpClient::attempt(std::span<const std::uint8_t> packet) {
  const std::string frame = encode_smp_frame(packet);
  const std::int64_t deadline = monotonic_ns() + options_.timeout_ns;
  if (auto sent = transport_.write(
          {reinterpret_cast<const std::uint8_t*>(frame.data()), frame.size()}, deadline);
      !sent) {
    return std::unexpected(sent.error());
  }
  for (;;) {
    if (options_.cancel != nullptr && options_.cancel->cancelled()) {
      return fail(ErrorKind::cancelled, "cancelled while waiting for the board", transport_.name());
    }
    if (monotonic_ns() >= deadline) {
      return fail(ErrorKind::timeout, "no answer in time", transport_.name());
    }
    std::uint8_t buffer[512];
    const auto count =
        transport_.read(buffer, std::min(deadline, monotonic_ns() + cancel_interval_ns));
    if (!count) {
      if (count.error().kind != ErrorKind::timeout) return std::unexpected(count.error());
      continue;
    }
    for (std::size_t i = 0; i < *count; ++i) {
      const auto answer = reader_.feed(buffer[i]);
      // Answers to what was asked before may still be on their way: the sequence number tells.
      if (!answer || answer->size() < header_bytes || (*answer)[6] != packet[6] ||
          (*answer)[7] != packet[7] || ((*answer)[0] & 7) != (packet[0] & 7) + 1) {
        continue;
      }
      json body = json::from_cbor(answer->begin() + header_bytes, answer->end(), true, false);
      if (!body.is_object()) {
        return fail(ErrorKind::protocol, "the board's answer is no CBOR map", transport_.name());
      }
      return body;
    }
  }
}

Result<json> SmpClient::request(const Command& command, const json& body) {
  const std::vector<std::uint8_t> cbor = json::to_cbor(body);
  std::vector<std::uint8_t> packet{static_cast<std::uint8_t>(command.op),
                                   0,
                                   static_cast<std::uint8_t>(cbor.size() >> 8),
                                   static_cast<std::uint8_t>(cbor.size()),
                                   static_cast<std::uint8_t>(command.group >> 8),
                                   static_cast<std::uint8_t>(command.group),
                                   sequence_++,
                                   command.id};
  packet.insert(packet.end(), cbor.begin(), cbor.end());
  for (int tries = 1;; ++tries) {
    auto answer = attempt(packet);
    if (!answer && answer.error().kind == ErrorKind::timeout && tries < options_.tries) continue;
    if (!answer) return answer;
    const std::int64_t rc = number_of(*answer, "rc", 0);
    if (rc == 0) return answer;
    const std::string reason = text_of(*answer, "rsn");
    return fail(ErrorKind::protocol,
                fmt::format("the board refused: {}{}", to_words(rc),
                            reason.empty() ? "" : " (" + reason + ")"),
                transport_.name());
  }
}

Result<std::string> SmpClient::echo(const std::string& text) {
  const auto answer = request({Op::write, group_os, 0}, {{"d", text}});
  if (!answer) return std::unexpected(answer.error());
  return text_of(*answer, "r");
}

// Boards that do not tell take MCUboot's default.
Result<std::uint32_t> SmpClient::packet_bytes() {
  const auto answer = request({Op::read, group_os, 6}, json::object());
  if (!answer && answer.error().kind != ErrorKind::protocol) {
    return std::unexpected(answer.error());
  }
  const std::int64_t told = answer ? number_of(*answer, "buf_size", 0) : 0;
  if (told < default_packet_bytes / 2) return default_packet_bytes;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(told, max_smp_packet));
}

Result<std::vector<SmpImage>> SmpClient::images() {
  const auto answer = request({Op::read, group_image, 0}, json::object());
  if (!answer) return std::unexpected(answer.error());
  const auto list = answer->find("images");
  if (list == answer->end() || !list->is_array()) {
    return fail(ErrorKind::protocol, "the board's answer lists no images", transport_.name());
  }
  std::vector<SmpImage> images;
  for (const json& one : *list) {
    if (!one.is_object()) continue;
    SmpImage image{.slot = static_cast<unsigned>(number_of(one, "slot", 0)),
                   .version = text_of(one, "version"),
                   .hash = {},
                   .active = flag_of(one, "active"),
                   .confirmed = flag_of(one, "confirmed"),
                   .pending = flag_of(one, "pending")};
    if (const auto hash = one.find("hash"); hash != one.end() && hash->is_binary()) {
      image.hash = hash->get_binary();
    }
    images.push_back(std::move(image));
  }
  return images;
}

Result<> SmpClient::upload(std::span<const std::uint8_t> image,
                           const std::function<void(std::uint64_t)>& on_progress) {
  const auto room = packet_bytes();
  if (!room) return std::unexpected(room.error());
  const std::size_t piece = *room - header_bytes - upload_overhead;
  // Of the whole file, by which the board knows it again: the hash in an image's header is that of
  // its payload, which another version may share.
  std::array<std::uint8_t, device::Sha256::digest_bytes> sha256;
  device::Sha256 hash;
  hash.update(image.data(), image.size());
  hash.finish(sha256.data());
  std::size_t at = 0;
  // The board may send us back, but not for ever.
  std::size_t requests_left = image.size() / piece * 4 + 16;
  while (at < image.size()) {
    if (requests_left-- == 0) {
      return fail(ErrorKind::protocol, "the board asks for the same pieces again and again",
                  transport_.name());
    }
    json body{{"off", at}, {"data", binary(image.subspan(at, std::min(piece, image.size() - at)))}};
    if (at == 0) {
      body["len"] = image.size();
      body["sha"] = binary(sha256);
    }
    const auto answer = request({Op::write, group_image, 1}, body);
    if (!answer) return std::unexpected(answer.error());
    const std::int64_t next = number_of(*answer, "off", -1);
    if (next < 0 || static_cast<std::uint64_t>(next) > image.size()) {
      return fail(ErrorKind::protocol, "the board asks for a piece that is not there",
                  transport_.name());
    }
    at = static_cast<std::size_t>(next);
    if (on_progress) on_progress(at);
  }
  return {};
}

Result<> SmpClient::test(std::span<const std::uint8_t> hash) {
  const auto answer =
      request({Op::write, group_image, 0}, {{"hash", binary(hash)}, {"confirm", false}});
  return answer ? Result<>() : std::unexpected(answer.error());
}

Result<> SmpClient::confirm() {
  const auto answer = request({Op::write, group_image, 0}, {{"confirm", true}});
  return answer ? Result<>() : std::unexpected(answer.error());
}

Result<> SmpClient::reset() {
  const auto answer = request({Op::write, group_os, 5}, json::object());
  return answer ? Result<>() : std::unexpected(answer.error());
}

}  // namespace assay::firmware
