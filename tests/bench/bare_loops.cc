#include "tests/bench/bare_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/bare_loops.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<std::uint64_t, 8>;

std::uint64_t Reduce(hn::Vec<D> v) {
  alignas(64) std::uint64_t lanes[8];
  hn::Store(v, D(), lanes);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < hn::Lanes(D()); ++i) all |= lanes[i];
  return all;
}

void Fill(std::span<std::byte> buffer, std::uint64_t word) {
  const D d;
  const std::size_t n = hn::Lanes(d);
  auto* to = reinterpret_cast<std::uint64_t*>(buffer.data());
  const auto value = hn::Set(d, word);
  for (std::size_t i = 0; i < buffer.size() / 8; i += 4 * n) {
    hn::Stream(value, d, to + i);
    hn::Stream(value, d, to + i + n);
    hn::Stream(value, d, to + i + 2 * n);
    hn::Stream(value, d, to + i + 3 * n);
  }
  hwy::FlushStream();
}

std::uint64_t Read(std::span<const std::byte> buffer) {
  const D d;
  const std::size_t n = hn::Lanes(d);
  const auto* from = reinterpret_cast<const std::uint64_t*>(buffer.data());
  auto a = hn::Zero(d);
  auto b = a;
  auto c = a;
  auto e = a;
  for (std::size_t i = 0; i < buffer.size() / 8; i += 4 * n) {
    a = hn::Or(a, hn::Load(d, from + i));
    b = hn::Or(b, hn::Load(d, from + i + n));
    c = hn::Or(c, hn::Load(d, from + i + 2 * n));
    e = hn::Or(e, hn::Load(d, from + i + 3 * n));
  }
  return Reduce(hn::Or(hn::Or(a, b), hn::Or(c, e)));
}

std::uint64_t Fused(std::span<std::byte> buffer, std::uint64_t word) {
  const D d;
  const std::size_t n = hn::Lanes(d);
  auto* at = reinterpret_cast<std::uint64_t*>(buffer.data());
  const auto value = hn::Set(d, word);
  auto a = hn::Zero(d);
  auto b = a;
  for (std::size_t i = 0; i < buffer.size() / 8; i += 2 * n) {
    a = hn::Or(a, hn::Load(d, at + i));
    hn::Store(value, d, at + i);
    b = hn::Or(b, hn::Load(d, at + i + n));
    hn::Store(value, d, at + i + n);
  }
  return Reduce(hn::Or(a, b));
}

}  // namespace assay::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::bench {

HWY_EXPORT(Fill);
HWY_EXPORT(Read);
HWY_EXPORT(Fused);

void bare_fill(std::span<std::byte> buffer, std::uint64_t word) {
  HWY_DYNAMIC_DISPATCH(Fill)(buffer, word);
}
std::uint64_t bare_read(std::span<const std::byte> buffer) {
  return HWY_DYNAMIC_DISPATCH(Read)(buffer);
}
std::uint64_t bare_fused(std::span<std::byte> buffer, std::uint64_t word) {
  return HWY_DYNAMIC_DISPATCH(Fused)(buffer, word);
}

}  // namespace assay::bench
#endif
