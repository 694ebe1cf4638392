// What the tests of YMODEM send, and what the receiver made of it.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "firmware/device/ymodem_receiver.h"
#include "tests/firmware/bytes.h"

namespace assay::firmware {

inline Bytes content_of(std::size_t size) {
  Bytes bytes(size);
  std::mt19937 random(static_cast<unsigned>(size));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

struct Received {
  std::string name;
  std::uint32_t announced = 0;
  bool size_known = false;
  Bytes bytes;
  std::uint32_t most = UINT32_MAX;  // more than this is refused

  device::FileSink sink() {
    return {this,
            [](void* self, const char* text, std::uint32_t size, bool known) {
              auto& r = *static_cast<Received*>(self);
              r.name = text;
              r.announced = size;
              r.size_known = known;
              r.bytes.clear();
              return size <= r.most;
            },
            [](void* self, const std::uint8_t* data, std::uint32_t size) {
              auto& r = *static_cast<Received*>(self);
              r.bytes.insert(r.bytes.end(), data, data + size);
              return r.bytes.size() <= r.most;
            }};
  }
};

}  // namespace assay::firmware
