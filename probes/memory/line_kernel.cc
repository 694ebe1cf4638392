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
  // An operation, and what of it is the same for all lines.
  struct Prepared {
    const LineOperation* op;
    std::byte* region;
    std::uint64_t seed;
    hn::Vec<D> table[vectors_per_line];
  };

  Lines(std::byte* region, Mismatches& mismatches) : region_(region), mismatches_(mismatches) {}

  HWY_INLINE Prepared Prepare(const LineOperation& op) const {
    Prepared prepared;
    prepared.op = &op;
    prepared.region = region_;
    prepared.seed = op.data->seed;
    LoadTable(op.data->tables[0], prepared.table);
    return prepared;
  }

  HWY_INLINE void Write(std::size_t line, const Prepared& prepared, bool streaming) {
    const D d;
    const LineOperation& op = *prepared.op;
    std::uint64_t* HWY_RESTRICT to = Words(prepared.region, line);
    hn::Vec<D> value[vectors_per_line];
    Values(line, prepared, value);
    if (kData == Data::any && op.select != Select::all) {
      const std::uint64_t* chosen = op.data->chosen[op.data->table_of(line)];
      for (std::size_t v = 0; v < vectors_per_line; ++v) {
        const std::size_t w = v * hn::Lanes(d);
        const auto is_chosen = hn::MaskFromVec(hn::Load(d, chosen + w));
        hn::BlendedStore(value[v], op.select == Select::chosen ? is_chosen : hn::Not(is_chosen), d,
                         to + w);
      }
      return;
    }
    for (std::size_t v = 0; v < vectors_per_line; ++v) {
      if (streaming) {
        hn::Stream(value[v], d, to + v * hn::Lanes(d));
      } else {
        hn::Store(value[v], d, to + v * hn::Lanes(d));
      }
    }
  }

  HWY_INLINE void Read(std::size_t line, const Prepared& op) { ReadAs(line, line, op); }

  // The line holds what the data has for the line `as`.
  HWY_INLINE void ReadAs(std::size_t line, std::size_t as, const Prepared& op) {
    const D d;
    const std::uint64_t* HWY_RESTRICT from = Words(op.region, line);
    hn::Vec<D> expected[vectors_per_line];
    Values(as, op, expected);
    // The value is read once: an error that is gone on a second read is still an error.
    hn::Vec<D> value[vectors_per_line];
    auto different = hn::Zero(d);
    for (std::size_t v = 0; v < vectors_per_line; ++v) {
      const std::size_t w = v * hn::Lanes(d);
      value[v] = hn::Load(d, from + w);
      different = hn::Or(different, hn::Xor(value[v], expected[v]));
    }
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Eq(different, hn::Zero(d))))) {
      alignas(line_bytes) std::uint64_t actual[words_per_line];
      for (std::size_t v = 0; v < vectors_per_line; ++v) {
        hn::Store(value[v], d, actual + v * hn::Lanes(d));
      }
      Note(line, as, *op.op, actual);
    }
  }

  HWY_INLINE void Flush(std::size_t first, std::size_t last) {
    flush_from_caches(region_ + first * line_bytes, (last - first) * line_bytes);
  }

 private:
  HWY_INLINE static void LoadTable(const std::uint64_t* table, hn::Vec<D>* out) {
    for (std::size_t v = 0; v < vectors_per_line; ++v) {
      out[v] = hn::Load(D(), table + v * hn::Lanes(D()));
    }
  }
  // What the line has by its data.
  HWY_INLINE static void Values(std::size_t line, const Prepared& prepared, hn::Vec<D>* out) {
    if constexpr (kData == Data::any) {
      LoadTable(prepared.op->data->tables[prepared.op->data->table_of(line)], out);
    } else {
      for (std::size_t v = 0; v < vectors_per_line; ++v) out[v] = prepared.table[v];
    }
    if constexpr (kData != Data::uniform) {
      const auto scalar = hn::Set(D(), kData == Data::random ? LineData::mix(prepared.seed + line)
                                                             : prepared.op->data->scalar(line));
      for (std::size_t v = 0; v < vectors_per_line; ++v) out[v] = hn::Xor(out[v], scalar);
    }
  }
  // A pointer whose origin the compiler does not know: it may neither take a value that is to be
  // read from what was stored before it, nor leave out a store because another one follows.
  HWY_INLINE static std::uint64_t* Words(std::byte* region, std::size_t line) {
    std::byte* at = region + line * line_bytes;
    asm volatile("" : "+r"(at));
    return reinterpret_cast<std::uint64_t*>(at);
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
      mismatches_.list.push_back(
          {line * line_bytes + w * sizeof(std::uint64_t), expected, actual[w],
           *const_cast<const volatile std::uint64_t*>(Words(region_, line) + w), op.id,
           sched_getcpu(), wall_ns()});
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

  using Prepared = Lines<Data::any>::Prepared;
  Prepared Prepare(const LineOperation& op) const { return lines_.Prepare(op); }
  void Write(std::size_t line, const Prepared& op, bool streaming) {
    lines_.Write(line, op, streaming);
    if (IsHooked(line)) {
      hwy::FlushStream();
      hook_.written(region_, line);
    }
  }
  void Read(std::size_t line, const Prepared& op) {
    if (IsHooked(line)) hook_.about_to_read(region_, line);
    lines_.Read(line, op);
  }
  void Flush(std::size_t first, std::size_t last) {
    lines_.Flush(first, last);
    for (std::size_t line = first; line < last; ++line) {
      if (IsHooked(line)) hook_.flushed(region_, line);
    }
  }

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
  const auto prepared = lines.Prepare(operation);
  for (std::size_t i = 0; i < count; ++i) lines.ReadAs(first + i, as + i, prepared);
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
