#include "probes/memory/cache_flush.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <emmintrin.h>
#endif

namespace assay::probes {
namespace {

#if defined(__x86_64__)

std::size_t flush_step() {
  return 64;
}

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
std::size_t flush_step() {
  std::uint64_t ctr = 0;
  asm("mrs %0, ctr_el0" : "=r"(ctr));
  return std::size_t{4} << ((ctr >> 16) & 0xF);
}

#endif

#if defined(__x86_64__)
void flush_line(const std::byte* at) {
  static const bool optimized = has_clflushopt();
  if (optimized) {
    asm volatile("clflushopt %0"
                 : "+m"(*const_cast<volatile char*>(reinterpret_cast<const volatile char*>(at))));
  } else {
    _mm_clflush(at);
  }
}
void fence() {
  _mm_mfence();
}
#elif defined(__aarch64__)
void flush_line(const std::byte* at) {
  // To the point of coherency, where DRAM is; "cvau" would only reach the point of unification.
  asm volatile("dc civac, %0" : : "r"(at) : "memory");
}
void fence() {
  asm volatile("dsb sy" : : : "memory");
}
#else
#error "no way to flush caches is known for this processor"
#endif

}  // namespace

void flush_from_caches(const std::byte* data, std::size_t bytes) {
  // Streaming stores first: they are in no cache and not yet in memory.
  fence();
  const std::size_t step = flush_step();
  const auto begin = reinterpret_cast<std::uintptr_t>(data) / step * step;
  const auto end = reinterpret_cast<std::uintptr_t>(data) + bytes;
  for (std::uintptr_t at = begin; at < end; at += step) {
    flush_line(reinterpret_cast<const std::byte*>(at));
  }
  fence();
}

void read_in_turn(const std::byte* a, const std::byte* b, int turns) {
  for (int i = 0; i < turns; ++i) {
    (void)*static_cast<const volatile std::byte*>(a);
    (void)*static_cast<const volatile std::byte*>(b);
    flush_line(a);
    flush_line(b);
    fence();
  }
}

}  // namespace assay::probes
