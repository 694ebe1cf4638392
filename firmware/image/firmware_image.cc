#include "firmware/image/firmware_image.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/regular_file.h"
#include "base/utf8.h"
#include "firmware/device/sha256.h"

namespace assay::firmware {
namespace {

using device::HeaderError;
using device::image_header_bytes;
using device::ImageHeader;

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

const char* to_words(HeaderError error) {
  switch (error) {
    case HeaderError::none:
      break;
    case HeaderError::magic:
      return "is no firmware image";
    case HeaderError::format:
      return "is a firmware image of a later format";
    case HeaderError::crc:
      return "has a damaged header";
    case HeaderError::text:
      return "names no board or no version";
    case HeaderError::size:
      return "has a header with lengths that cannot be";
  }
  return "";
}

bool is_plain(const std::string& text, std::size_t most) {
  return !text.empty() && text.size() <= most &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

void hash_payload(std::span<const std::uint8_t> payload, std::uint8_t (&digest)[32]) {
  device::Sha256 sha;
  sha.update(payload.data(), payload.size());
  sha.finish(digest);
}

}  // namespace

std::string FirmwareImage::sha256_text() const {
  return hex(header.sha256);
}

bool begins_as_image(std::span<const std::uint8_t> bytes) {
  // Cut off in its header, it is one all the same.
  std::uint8_t beginning[image_header_bytes] = {};
  std::copy_n(bytes.begin(), std::min<std::size_t>(bytes.size(), image_header_bytes), beginning);
  device::ImageHeader header;
  return device::parse_image_header(beginning, &header) != HeaderError::magic;
}

Result<FirmwareImage> parse_image(std::vector<std::uint8_t> bytes, const std::string& where) {
  const auto bad = [&](std::string what, std::string hint = {}) {
    return fail(ErrorKind::bad_file, std::move(what), where, std::move(hint));
  };
  if (bytes.empty()) return bad("is empty", "get the file again");
  if (bytes.size() < image_header_bytes) {
    return bad(fmt::format("is {}: {} bytes, and the header alone has {}",
                           begins_as_image(bytes) ? "cut off" : "no firmware image", bytes.size(),
                           image_header_bytes),
               "get the file again");
  }
  FirmwareImage image;
  if (const auto error = device::parse_image_header(bytes.data(), &image.header);
      error != HeaderError::none) {
    return bad(to_words(error), error == HeaderError::magic
                                    ? "a vendor's raw .bin is wrapped by  assay fw pack"
                                    : "get the file again");
  }
  if (bytes.size() != image.header.total_bytes()) {
    return bad(fmt::format("is {}: {} bytes, and its header says {}",
                           bytes.size() < image.header.total_bytes() ? "cut off" : "too long",
                           bytes.size(), image.header.total_bytes()),
               "get the file again");
  }
  const auto version = parse_semantic_version(image.header.version);
  if (!version)
    return bad(
        fmt::format("has the version \"{}\": {}", image.header.version, version.error().what));
  image.version = *version;
  image.bytes = std::move(bytes);
  std::uint8_t digest[device::Sha256::digest_bytes];
  hash_payload(image.payload(), digest);
  if (std::memcmp(digest, image.header.sha256, sizeof digest) != 0) {
    return bad(fmt::format("is damaged: its payload has the SHA-256 {}, and its header says {}",
                           hex(digest), image.sha256_text()),
               "get the file again");
  }
  return image;
}

Result<FirmwareImage> read_image(const std::string& path) {
  const auto content = read_regular_file(path, max_image_bytes);
  if (!content) return std::unexpected(content.error());
  return parse_image({content->begin(), content->end()}, to_printable(path));
}

Result<FirmwareImage> pack_image(std::span<const std::uint8_t> payload,
                                 const ImageIdentity& identity) {
  if (!is_plain(identity.board, device::image_board_bytes)) {
    return fail(ErrorKind::usage, "expected 1 to 32 printable characters without spaces",
                "board id");
  }
  const auto version = parse_semantic_version(identity.version);
  if (!version || !is_plain(identity.version, device::image_version_bytes)) {
    return fail(ErrorKind::usage, "expected a semantic version of at most 48 characters", "version",
                "as in 2.3.1 or 2.4.0-rc1");
  }
  if (payload.empty() ||
      payload.size() > max_image_bytes - image_header_bytes - device::image_signature_bytes) {
    return fail(ErrorKind::usage, "expected 1 byte to 64 MiB of firmware", "payload");
  }
  FirmwareImage image;
  image.version = *version;
  std::memcpy(image.header.board, identity.board.data(), identity.board.size());
  std::memcpy(image.header.version, identity.version.data(), identity.version.size());
  image.header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  image.header.security_counter = identity.security_counter;
  hash_payload(payload, image.header.sha256);
  image.bytes.resize(image_header_bytes);
  device::write_image_header(image.header, image.bytes.data());
  image.bytes.insert(image.bytes.end(), payload.begin(), payload.end());
  return image;
}

}  // namespace assay::firmware
