// A line on which the same byte comes for ever, as fast as it is read.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "firmware/serial/transport.h"

namespace assay::firmware {

class EndlessLine final : public Transport {
 public:
  explicit EndlessLine(std::uint8_t byte) : byte_(byte) {}
  Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t) override {
    buffer[0] = byte_;
    return 1;
  }
  Result<> write(std::span<const std::uint8_t>, std::int64_t) override { return {}; }
  Result<> discard_input() override { return {}; }
  Result<> set_baud(int) override { return {}; }
  const std::string& name() const override { return name_; }

 private:
  std::uint8_t byte_;
  std::string name_ = "endless";
};

}  // namespace assay::firmware
