// The parameters of memory.test: declared, checked and read.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "probes/framework/parameters.h"
#include "probes/memory/memory_run.h"
#include "probes/memory/ram.h"

namespace assay::probes {

struct MemoryOptions {
  std::vector<Algorithm> tests;
  MemoryRunOptions run;
  std::uint64_t iterations = 1;  // UINT64_MAX: until the duration is over
  std::int64_t duration_ns = 0;  // 0: as long as the iterations take
  std::uint64_t minimum_bytes = 0;
  bool fresh_frames = false;
  bool offline_bad_pages = false;
};

std::vector<ParameterSpec> memory_parameters();

// Errors: usage, `where` the parameter's name.
Result<MemoryOptions> read_memory_options(const Parameters& parameters);

// That of the sizes alone: size, minimum.
Result<> check_sizes(const Parameters& parameters);

struct MemorySize {
  std::uint64_t asked = 0;
  std::uint64_t bytes = 0;  // to be tested, whole pages
};
// What the parameters come to on this machine. A share of all, and a size with a minimum, are cut
// to what can be spared; the minimum is not judged here. Errors: usage when a size is more than
// that.
Result<MemorySize> memory_size(const Parameters& parameters, const Ram& ram);

}  // namespace assay::probes
