// The memory test on 8 MiB of real RAM, which a test may break at some lines.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "probes/memory/memory_test.h"
#include "tests/probes/bench_fixture.h"

namespace assay::probes {

inline constexpr std::uint64_t mib = 1 << 20;

inline std::uint64_t* word(std::byte* region, std::size_t line, std::size_t index = 0) {
  return reinterpret_cast<std::uint64_t*>(region + line * line_bytes) + index;
}

class MemoryTestFixture : public testing::Test {
 protected:
  MemoryTestFixture() {
    bench_.parameters.set("size", 8 * mib);
    tests({"0xAAAAAAAA", "0x55555555"});
  }
  void tests(const std::vector<std::string>& names) { bench_.parameters.set("tests", names); }
  void iterations(std::uint64_t n) { bench_.parameters.set("iterations", n); }
  test::Outcome run() {
    return bench_.run(
        memory_test_probe(),
        {{"errors", {reports::make_validator(reports::Comparison::equal, std::int64_t{0}, "1")}}});
  }
  const reports::Finding& corruption(const test::Outcome& outcome) {
    const auto* finding = outcome.finding("MEM_CORRUPTION_ERR");
    if (finding == nullptr) throw std::runtime_error("no finding");
    return *finding;
  }
  test::BenchFixture bench_;
};

}  // namespace assay::probes
