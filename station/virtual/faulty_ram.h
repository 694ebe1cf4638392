// This machine's RAM with a fault, put in where the hardware ends: at the accesses of one or two
// lines.
#pragma once

#include <array>
#include <optional>

#include "probes/memory/ram.h"

namespace assay::station {

// One bit that is stuck at 1.
class StuckBitRam final : public probes::Ram, private probes::LineHook {
 public:
  probes::LineHook* hook() override { return this; }

 private:
  std::span<const std::size_t> lines(std::size_t lines_in_region) override;
  void written(std::byte* region, std::size_t line) override;
  void about_to_read(std::byte*, std::size_t) override {}

  std::array<std::size_t, 1> line_{};
};

// Inversion coupling (CFin): when the aggressor's bit goes from 0 to 1, the victim's flips. The two
// lie in neighbouring lines, the victim behind.
class CoupledBitsRam final : public probes::Ram, private probes::LineHook {
 public:
  probes::LineHook* hook() override { return this; }

 private:
  std::span<const std::size_t> lines(std::size_t lines_in_region) override;
  void written(std::byte* region, std::size_t line) override;
  void about_to_read(std::byte*, std::size_t) override {}

  std::array<std::size_t, 1> aggressor_{};
  std::size_t victim_ = 0;
  std::optional<bool> was_set_;
};

}  // namespace assay::station
