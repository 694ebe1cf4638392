#include "probes/memory/line_kernel.h"

#include <sched.h>

#include "base/clock.h"
#include "probes/memory/cache_flush.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "probes/memory/line_kernel.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include "probes/memory/element-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::probes::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// No wider than a line, whatever the processor has.
using D = hn::CappedTag<std::uint64_t, words_per_line>;
constexpr std::size_t vectors_per_line = words_per_line / hn::MaxLanes(D());

// Real memory by lines. Where all operations of an element have the same kind of data, which is
// nearly always, the kernel is made for that kind.
enum class Data { uniform, random, any };

template <Data kData>
class Lines {
 public:
  Lines(std::byte* region, Mismatches& mismatches) : region_(region), mismatches_(mismatches) {}

  HWY_INLINE void Write(std::size_t line, const LineOperation& op, bool streaming) {
    const D d;
    std::uint64_t* HWY_RESTRICT to = Words(line);
    const std::uint64_t* HWY_RESTRICT table = Table(line, op);
    const auto scalar = Scalar(line, op);
    if (kData == Data::any && op.select != Select::all) {
      const std::uint64_t* chosen = op.data->chosen[op.data->table_of(line)];
      for (std::size_t w = 0; w < words_per_line; w += hn::Lanes(d)) {
        const auto is_chosen = hn::MaskFromVec(hn::Load(d, chosen + w));
        hn::BlendedStore(hn::Load(d, table + w),
                         op.select == Select::chosen ? is_chosen : hn::Not(is_chosen), d, to + w);
      }
    } else if (streaming) {
      for (std::size_t w = 0; w < words_per_line; w += hn::Lanes(d)) {
        hn::Stream(Value(d, table + w, scalar), d, to + w);
      }
    } else {
      for (std::size_t w = 0; w < words_per_line; w += hn::Lanes(d)) {
        hn::Store(Value(d, table + w, scalar), d, to + w);
      }
    }
  }

  HWY_INLINE void Read(std::size_t line, const LineOperation& op) { ReadAs(line, line, op); }

  // The line holds what the data has for the line `as`.
  HWY_INLINE void ReadAs(std::size_t line, std::size_t as, const LineOperation& op) {
    const D d;
    const std::uint64_t* HWY_RESTRICT from = Words(line);
    const std::uint64_t* HWY_RESTRICT table = Table(as, op);
    const auto scalar = Scalar(as, op);
    // The value is read once: an error that is gone on a second read is still an error.
    hn::Vec<D> value[vectors_per_line];
    auto different = hn::Zero(d);
    for (std::size_t v = 0; v < vectors_per_line; ++v) {
      const std::size_t w = v * hn::Lanes(d);
      value[v] = hn::Load(d, from + w);
      different = hn::Or(different, hn::Xor(value[v], Value(d, table + w, scalar)));
    }
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Eq(different, hn::Zero(d))))) {
      alignas(line_bytes) std::uint64_t actual[words_per_line];
      for (std::size_t v = 0; v < vectors_per_line; ++v) {
        hn::Store(value[v], d, actual + v * hn::Lanes(d));
      }
      Note(line, as, op, actual);
    }
  }

  HWY_INLINE void Flush(std::size_t first, std::size_t last) {
    flush_from_caches(region_ + first * line_bytes, (last - first) * line_bytes);
  }

 private:
  template <class V>
  HWY_INLINE V Value(D d, const std::uint64_t* table, V scalar) const {
    const auto value = hn::Load(d, table);
    return kData == Data::uniform ? value : hn::Xor(value, scalar);
  }
  HWY_INLINE static hn::Vec<D> Scalar(std::size_t line, const LineOperation& op) {
    if constexpr (kData == Data::uniform) {
      return hn::Zero(D());
    } else if constexpr (kData == Data::random) {
      return hn::Set(D(), LineData::mix(op.data->seed + line));
    } else {
      return hn::Set(D(), op.data->scalar(line));
    }
  }
  // A pointer whose origin the compiler does not know: it may neither take a value that is to be
  // read from what was stored before it, nor leave out a store because another one follows.
  HWY_INLINE std::uint64_t* Words(std::size_t line) const {
    std::byte* at = region_ + line * line_bytes;
    asm volatile("" : "+r"(at));
    return reinterpret_cast<std::uint64_t*>(at);
  }
  HWY_INLINE static const std::uint64_t* Table(std::size_t line, const LineOperation& op) {
    return op.data->tables[kData == Data::any ? op.data->table_of(line) : 0];
  }

  HWY_NOINLINE void Note(std::size_t line, std::size_t as, const LineOperation& op,
                         const std::uint64_t* actual) {
    const std::uint64_t scalar = op.data->scalar(as);
    const std::size_t table = op.data->table_of(as);
    flush_from_caches(region_ + line * line_bytes, line_bytes);
    for (std::size_t w = 0; w < words_per_line; ++w) {
      const std::uint64_t expected = op.data->tables[table][w] ^ scalar;
      if (expected == actual[w]) continue;
      ++mismatches_.count;
      if (mismatches_.list.size() >= mismatches_.most) continue;
      mismatches_.list.push_back({line * line_bytes + w * sizeof(std::uint64_t), expected,
                                  actual[w],
                                  *const_cast<const volatile std::uint64_t*>(Words(line) + w),
                                  op.id, sched_getcpu(), wall_ns()});
    }
  }

  std::byte* region_;
  Mismatches& mismatches_;
};

// The same with a simulated fault at some lines.
class HookedLines {
 public:
  HookedLines(std::byte* region, std::span<const std::size_t> hooked, LineHook& hook,
              Mismatches& mismatches)
      : region_(region), hooked_(hooked), hook_(hook), lines_(region, mismatches) {}

  void Write(std::size_t line, const LineOperation& op, bool streaming) {
    lines_.Write(line, op, streaming);
    if (IsHooked(line)) {
      hwy::FlushStream();
      hook_.written(region_, line);
    }
  }
  void Read(std::size_t line, const LineOperation& op) {
    if (IsHooked(line)) hook_.about_to_read(region_, line);
    lines_.Read(line, op);
  }
  void Flush(std::size_t first, std::size_t last) { lines_.Flush(first, last); }

 private:
  bool IsHooked(std::size_t line) const {
    return std::binary_search(hooked_.begin(), hooked_.end(), line);
  }

  std::byte* region_;
  std::span<const std::size_t> hooked_;
  LineHook& hook_;
  Lines<Data::any> lines_;
};

void Run(std::byte* region, std::size_t first, std::size_t last, const LinePass& pass,
         std::span<const std::size_t> hooked, LineHook* hook, Mismatches& mismatches) {
  const auto run = [&](auto&& memory) {
    RunElement(pass.order, pass.operations, pass.flush, flush_batch_lines, first, last, memory);
  };
  const auto at = std::lower_bound(hooked.begin(), hooked.end(), first);
  const auto all_are = [&](Background::Kind kind) {
    return std::all_of(pass.operations.begin(), pass.operations.end(),
                       [&](const LineOperation& op) { return op.data->kind == kind; });
  };
  if (hook != nullptr && at != hooked.end() && *at < last) {
    run(HookedLines(region, hooked, *hook, mismatches));
  } else if (all_are(Background::Kind::uniform)) {
    run(Lines<Data::uniform>(region, mismatches));
  } else if (all_are(Background::Kind::random)) {
    run(Lines<Data::random>(region, mismatches));
  } else {
    run(Lines<Data::any>(region, mismatches));
  }
  // Another thread may read what this one wrote.
  hwy::FlushStream();
}

void Copy(std::byte* region, std::size_t from, std::size_t to, std::size_t count) {
  const D d;
  const auto* source = reinterpret_cast<const std::uint64_t*>(region + from * line_bytes);
  auto* target = reinterpret_cast<std::uint64_t*>(region + to * line_bytes);
  for (std::size_t w = 0; w < count * words_per_line; w += hn::Lanes(d)) {
    hn::Stream(hn::Load(d, source + w), d, target + w);
  }
  hwy::FlushStream();
}

void Verify(std::byte* region, std::size_t first, std::size_t count, std::size_t as,
            const LineOperation& operation, Mismatches& mismatches) {
  Lines<Data::any> lines(region, mismatches);
  for (std::size_t i = 0; i < count; ++i) lines.ReadAs(first + i, as + i, operation);
}

const char* Target() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace assay::probes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::probes {

HWY_EXPORT(Run);
HWY_EXPORT(Copy);
HWY_EXPORT(Verify);
HWY_EXPORT(Target);

void run_lines(std::byte* region, std::size_t first, std::size_t last, const LinePass& pass,
               std::span<const std::size_t> hooked, LineHook* hook, Mismatches& mismatches) {
  HWY_DYNAMIC_DISPATCH(Run)(region, first, last, pass, hooked, hook, mismatches);
}

void copy_lines(std::byte* region, std::size_t from, std::size_t to, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(Copy)(region, from, to, count);
}

void verify_lines(std::byte* region, std::size_t first, std::size_t count, std::size_t as,
                  const LineOperation& operation, Mismatches& mismatches) {
  HWY_DYNAMIC_DISPATCH(Verify)(region, first, count, as, operation, mismatches);
}

const char* line_kernel_target() {
  return HWY_DYNAMIC_DISPATCH(Target)();
}

}  // namespace assay::probes
#endif
