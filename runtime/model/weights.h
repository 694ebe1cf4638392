// Synthetic weights: what a model of a given shape would hold, made from a seed.
//
// A counter-based generator gives the bytes (SplitMix64, Steele, Lea and Flood 2014, "Fast
// splittable pseudorandom number generators"): 8 bytes are a function of the seed, the tensor's
// place in the layout and the position in it. So the bytes do not depend on threads or order, and
// are made in packed form. Values have mean 0 and a variance of about
// 1 / columns, so that activations keep their size through the layers; norm gains lie in 0.5..1.5.
// No code is a NaN or an infinity.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/cancel.h"
#include "base/result.h"
#include "base/worker_pool.h"
#include "runtime/model/layout.h"

namespace assay::runtime {

// Called in the caller's thread.
using FillProgress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

// Fills the computed tensors of `layout`. `memory[i]` is the memory of layout.mappings[i], aligned
// to tensor_alignment and at least as large. ErrorKind::cancelled within about a millisecond of
// cancel; the memory's content is then unspecified. `progress` may be empty.
Result<> fill_weights(const Layout& layout, std::span<const std::span<std::byte>> memory,
                      std::uint64_t seed, WorkerPool& pool, const CancelToken& cancel,
                      const FillProgress& progress);

}  // namespace assay::runtime
