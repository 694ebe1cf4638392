// What every fuzz target shares: a property that does not hold ends the program, whatever the build
// type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// libFuzzer's entry. In the program that replays the corpora each target's has a name of its own.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace assay::fuzz {

inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "the property does not hold: %s\n", property);
  std::abort();
}

// Says how far an input came. The replay asks it of the seeds, so that none of them stops short of
// what it is for unseen; a fuzzer goes by coverage.
#ifdef ASSAY_FUZZ_REPLAY
void reached(const std::string& state);
#else
inline void reached(const std::string&) {}
#endif

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace assay::fuzz
