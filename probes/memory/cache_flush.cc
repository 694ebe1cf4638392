#include "probes/memory/cache_flush.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <emmintrin.h>
#endif

namespace assay::probes {
namespace {

#if defined(__x86_64__)

constexpr std::size_t line = 64;

// CLFLUSHOPT is not ordered with itself, which makes it several times faster than CLFLUSH (Intel
// SDM vol. 2, CPUID.7.0:EBX[23]).
bool has_clflushopt() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1U << 23)) != 0;
}

#elif defined(__aarch64__)

// CTR_EL0.DminLine: log2 of the words of the smallest data cache line (Arm ARM, D19.2.34). The
// least over the cores is what the kernel lets a process see.
std::size_t smallest_line() {
  std::uint64_t ctr = 0;
  asm volatile("mrs %0, ctr_el0" : "=r"(ctr));
  return std::size_t{4} << ((ctr >> 16) & 0xF);
}

#endif

}  // namespace

void flush_from_caches(const std::byte* data, std::size_t bytes) {
#if defined(__x86_64__)
  static const bool optimized = has_clflushopt();
  // Streaming stores first: they are in no cache and not yet in memory.
  _mm_mfence();
  for (std::size_t i = 0; i < bytes; i += line) {
    if (optimized) {
      asm volatile(
          "clflushopt %0"
          : "+m"(*const_cast<volatile char*>(reinterpret_cast<const volatile char*>(data + i))));
    } else {
      _mm_clflush(data + i);
    }
  }
  _mm_mfence();
#elif defined(__aarch64__)
  static const std::size_t line = smallest_line();
  const auto begin = reinterpret_cast<std::uintptr_t>(data) / line * line;
  const auto end = reinterpret_cast<std::uintptr_t>(data) + bytes;
  // To the point of coherency, where DRAM is; "cvau" would only reach the point of unification.
  for (std::uintptr_t at = begin; at < end; at += line) {
    asm volatile("dc civac, %0" : : "r"(at) : "memory");
  }
  asm volatile("dsb sy" : : : "memory");
#else
#error "no way to flush caches is known for this processor"
#endif
}

}  // namespace assay::probes
