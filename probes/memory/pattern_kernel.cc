#include "probes/memory/pattern_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "probes/memory/pattern_kernel.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::probes::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void fill(std::byte* HWY_RESTRICT bytes, std::size_t size, std::uint64_t pattern) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t lanes = hn::Lanes(d);
  auto* words = reinterpret_cast<std::uint64_t*>(bytes);
  const std::size_t count = size / sizeof(std::uint64_t);
  const auto value = hn::Set(d, pattern);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    hn::Stream(value, d, words + i);
    hn::Stream(value, d, words + i + lanes);
    hn::Stream(value, d, words + i + 2 * lanes);
    hn::Stream(value, d, words + i + 3 * lanes);
  }
  for (; i < count; ++i) words[i] = pattern;
  // Another thread may verify what this one wrote.
  hwy::FlushStream();
}

std::uint64_t verify(const std::byte* HWY_RESTRICT bytes, std::size_t size, std::uint64_t pattern,
                     std::vector<Mismatch>& mismatches, std::size_t max_reported) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* words = reinterpret_cast<const std::uint64_t*>(bytes);
  const std::size_t count = size / sizeof(std::uint64_t);
  const auto value = hn::Set(d, pattern);
  std::uint64_t wrong = 0;
  const auto look_closely = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      // One read: an error that is gone on the second is still an error.
      const std::uint64_t actual = *const_cast<const volatile std::uint64_t*>(words + i);
      if (actual == pattern) continue;
      ++wrong;
      if (mismatches.size() < max_reported) mismatches.push_back({i * 8, actual});
    }
  };
  std::size_t i = 0;
  for (; i + 8 * lanes <= count; i += 8 * lanes) {
    auto a = hn::Xor(hn::Load(d, words + i), value);
    auto b = hn::Xor(hn::Load(d, words + i + lanes), value);
    auto c = hn::Xor(hn::Load(d, words + i + 2 * lanes), value);
    auto e = hn::Xor(hn::Load(d, words + i + 3 * lanes), value);
    a = hn::Or(a, hn::Xor(hn::Load(d, words + i + 4 * lanes), value));
    b = hn::Or(b, hn::Xor(hn::Load(d, words + i + 5 * lanes), value));
    c = hn::Or(c, hn::Xor(hn::Load(d, words + i + 6 * lanes), value));
    e = hn::Or(e, hn::Xor(hn::Load(d, words + i + 7 * lanes), value));
    const auto any = hn::Or(hn::Or(a, b), hn::Or(c, e));
    if (HWY_LIKELY(hn::AllTrue(d, hn::Eq(any, hn::Zero(d))))) continue;
    const std::uint64_t before = wrong;
    look_closely(i, i + 8 * lanes);
    if (wrong == before) {
      // The wide read saw a difference that the second read did not: name the block, and what
      // differed in it.
      ++wrong;
      if (mismatches.size() < max_reported) {
        const std::uint64_t flipped = hn::GetLane(hn::MaxOfLanes(d, any));
        mismatches.push_back({i * 8, pattern ^ flipped});
      }
    }
  }
  look_closely(i, count);
  return wrong;
}

const char* target() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace assay::probes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::probes {

HWY_EXPORT(fill);
HWY_EXPORT(verify);
HWY_EXPORT(target);

void fill_pattern(std::span<std::byte> buffer, std::uint64_t pattern) {
  HWY_DYNAMIC_DISPATCH(fill)(buffer.data(), buffer.size(), pattern);
}

std::uint64_t verify_pattern(std::span<const std::byte> buffer, std::uint64_t pattern,
                             std::vector<Mismatch>& mismatches, std::size_t max_reported) {
  return HWY_DYNAMIC_DISPATCH(verify)(buffer.data(), buffer.size(), pattern, mismatches,
                                      max_reported);
}

const char* pattern_kernel_target() {
  return HWY_DYNAMIC_DISPATCH(target)();
}

}  // namespace assay::probes
#endif
