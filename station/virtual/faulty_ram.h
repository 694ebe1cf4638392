// This machine's RAM with faults, put in where the hardware ends: at the accesses of one or two
// lines each.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "probes/memory/ram.h"

namespace assay::station {

// A fault that shows when one line is written.
class CellFault {
 public:
  virtual ~CellFault() = default;
  // The line, in a region of that many.
  virtual std::size_t place(std::size_t lines_in_region) = 0;
  virtual void written(std::byte* region) = 0;
};

// One bit that is stuck at 1.
class StuckBit final : public CellFault {
 public:
  std::size_t place(std::size_t lines_in_region) override;
  void written(std::byte* region) override;

 private:
  std::size_t line_ = 0;
};

// Inversion coupling (CFin): when the aggressor's bit goes from 0 to 1, the victim's flips. The two
// lie in neighbouring lines, the victim behind.
class CoupledBits final : public CellFault {
 public:
  std::size_t place(std::size_t lines_in_region) override;
  void written(std::byte* region) override;

 private:
  std::size_t aggressor_ = 0;
  std::size_t victim_ = 0;
  std::optional<bool> was_set_;
};

class FaultyRam final : public probes::Ram, private probes::LineHook {
 public:
  explicit FaultyRam(std::vector<std::unique_ptr<CellFault>> faults);
  probes::LineHook* hook() override { return this; }

 private:
  std::span<const std::size_t> lines(std::size_t lines_in_region) override;
  void written(std::byte* region, std::size_t line) override;
  void about_to_read(std::byte*, std::size_t) override {}

  struct Placed {
    std::unique_ptr<CellFault> fault;
    std::size_t line = 0;
  };
  std::vector<Placed> faults_;
  std::vector<std::size_t> lines_;
};

}  // namespace assay::station
