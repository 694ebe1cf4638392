// A GGUF file with random weights and a vocabulary of its own, for every reader of such files: of a
// shape that is wanted, and of weights that no licence is on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/result.h"
#include "base/worker_pool.h"
#include "runtime/model/shape.h"

namespace assay::runtime::gguf {

// Of the matrices; gains and routers are F32. GGUF has no FP8: fp8 is F16 whose numbers FP8 E4M3
// has too, but for a power of two that all weights of a matrix share.
enum class SynthType : std::uint8_t { f16, q8, q4, fp8 };

// "f16", "q8", "q4", "fp8".
std::optional<SynthType> synth_type(std::string_view name);

struct Synth {
  ModelShape shape;  // the Llama family's; with experts, Mixtral's
  SynthType type = SynthType::f16;
  std::uint64_t seed = 0;
};

// Bytes of the file that write_synthetic() makes. ErrorKind::usage for a shape that does not pass
// validate(), rows that are no whole blocks of the type, and fewer than 512 tokens.
Result<std::uint64_t> synthetic_bytes(const Synth& synth);

// Called in the caller's thread.
using SynthProgress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

// The same synth gives the same bytes, whatever the threads. Weights are those of
// model/random_codes.h: mean 0, a variance of about 1 / columns. Takes a bounded amount of memory,
// whatever the model's size. Errors: synthetic_bytes()'s, AtomicOutput's, and cancelled, which
// leaves no file behind. `progress` may be empty.
Result<> write_synthetic(const std::string& path, const Synth& synth, WorkerPool& pool,
                         const CancelToken& cancel, const SynthProgress& progress);

}  // namespace assay::runtime::gguf
