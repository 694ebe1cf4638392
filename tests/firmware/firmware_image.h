// Firmware images for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "firmware/device/image_header.h"
#include "firmware/device/sha256.h"

namespace assay::test {

// A whole image: its header, and a payload that no other version has.
inline std::vector<std::uint8_t> firmware_image(const std::string& version,
                                                std::uint32_t payload_bytes,
                                                const std::string& board,
                                                std::uint32_t security_counter = 1) {
  using namespace firmware::device;
  std::vector<std::uint8_t> payload(payload_bytes);
  std::seed_seq seed(version.begin(), version.end());
  std::mt19937 random(seed);
  for (auto& byte : payload) byte = static_cast<std::uint8_t>(random());
  ImageHeader header;
  std::strncpy(header.board, board.c_str(), image_board_bytes);
  std::strncpy(header.version, version.c_str(), image_version_bytes);
  header.payload_bytes = payload_bytes;
  header.security_counter = security_counter;
  Sha256 sha;
  sha.update(payload.data(), payload.size());
  sha.finish(header.sha256);
  std::vector<std::uint8_t> all(image_header_bytes);
  write_image_header(header, all.data());
  all.insert(all.end(), payload.begin(), payload.end());
  return all;
}

}  // namespace assay::test
