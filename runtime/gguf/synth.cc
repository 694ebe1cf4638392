#include "runtime/gguf/synth.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/gguf/gguf_type.h"
#include "runtime/gguf/model.h"
#include "runtime/gguf/synth_vocabulary.h"
#include "runtime/gguf/writer.h"
#include "runtime/model/random_codes.h"

namespace assay::runtime::gguf {
namespace {

constexpr std::uint64_t buffer_bytes = 16 << 20;
// Units that a worker makes at once; see Fill.
constexpr std::uint64_t units_per_piece = 1 << 14;

GgufType type_of(SynthType type) {
  switch (type) {
    case SynthType::q8:
      return GgufType::q8_0;
    case SynthType::q4:
      return GgufType::q4_0;
    case SynthType::f16:
    case SynthType::fp8:
      break;
  }
  return GgufType::f16;
}

// How a tensor's bytes are made: units of `words` random words each, of which `codes` fill 8 bytes,
// behind a scale where the type has blocks.
struct Fill {
  std::uint32_t unit_bytes = 8;
  std::uint32_t scale_bytes = 0;
  CodePattern codes;
  CodePattern scale;

  void make(std::uint64_t key, std::uint64_t unit, std::byte* out) const {
    const std::uint32_t code_bytes = unit_bytes - scale_bytes;
    const std::uint64_t words = code_bytes / 8 + (scale_bytes == 0 ? 0 : 1);
    std::uint64_t counter = key + unit * words * golden;
    if (scale_bytes != 0) {
      const std::uint64_t word = scale.word(mix(counter += golden));
      std::memcpy(out, &word, scale_bytes);
    }
    for (std::uint32_t at = 0; at < code_bytes; at += 8) {
      const std::uint64_t word = codes.word(mix(counter += golden));
      std::memcpy(out + scale_bytes + at, &word, 8);
    }
  }
};

Fill fill_of(GgufType type, bool on_the_fp8_grid, float sigma) {
  const std::uint32_t block_bytes = block_of(type).bytes;
  switch (type) {
    case GgufType::q8_0:
      return {block_bytes, 2, random_int8, random_half_scales(sigma / rms_of_random_int8)};
    case GgufType::q4_0:
      return {block_bytes, 2, random_int4, random_half_scales(sigma / rms_of_random_int4)};
    case GgufType::f16:
      return {
          8, 0, on_the_fp8_grid ? random_halves_on_the_fp8_grid(sigma) : random_halves(sigma), {}};
    default:
      return {8, 0, random_f32(sigma), {}};
  }
}

struct Plan {
  std::vector<NewTensor> tensors;
  std::vector<Fill> fills;  // of each
};

bool is_router(std::string_view name) {
  return name.ends_with("ffn_gate_inp.weight");
}

Result<Plan> plan_of(const Synth& synth) {
  if (auto valid = validate(synth.shape); !valid) return std::unexpected(valid.error());
  if (synth.shape.vocabulary < least_synth_tokens) {
    return fail(ErrorKind::usage,
                fmt::format("{} tokens; a vocabulary that has every byte takes {}",
                            synth.shape.vocabulary, least_synth_tokens),
                "vocabulary");
  }
  Model model;
  model.shape = synth.shape;
  model.architecture = find_architecture("llama");
  Plan plan;
  const GgufType type = type_of(synth.type);
  auto planned = visit_expected(model, [&](const Expected& expected) -> Result<> {
    const bool is_packed = expected.is_matrix && !is_router(expected.name);
    const GgufType own = is_packed ? type : GgufType::f32;
    const GgufBlock block = block_of(own);
    if (expected.dims[0] % block.elements != 0) {
      return fail(ErrorKind::usage,
                  fmt::format("rows of {} numbers are no whole blocks of {}, which has {}",
                              expected.dims[0], block.name, block.elements),
                  expected.name);
    }
    NewTensor tensor{expected.name, own, {expected.dims[0]}};
    if (expected.is_matrix) tensor.dims.push_back(expected.dims[1]);
    if (expected.dims[2] > 1) tensor.dims.push_back(expected.dims[2]);
    // A row of the embedding enters the residual stream as it is.
    const float sigma = expected.name == "token_embd.weight"
                            ? 1.0F
                            : 1.0F / std::sqrt(static_cast<float>(expected.dims[0]));
    plan.fills.push_back(expected.is_matrix ? fill_of(own, synth.type == SynthType::fp8, sigma)
                                            : Fill{.codes = uniform(0.5F, 1.5F)});
    plan.tensors.push_back(std::move(tensor));
    return {};
  });
  if (!planned) return std::unexpected(planned.error());
  return plan;
}

Metadata metadata_of(const Synth& synth) {
  const ModelShape& shape = synth.shape;
  Metadata metadata;
  metadata.text("general.architecture", "llama");
  metadata.text("general.name", shape.name);
  metadata.text("general.description",
                fmt::format("random weights of seed {}, made by assay model synth", synth.seed));
  metadata.whole("general.quantization_version", 2);
  metadata.whole("llama.block_count", shape.layers);
  metadata.whole("llama.context_length", shape.context);
  metadata.whole("llama.embedding_length", shape.width);
  metadata.whole("llama.feed_forward_length", shape.ffn);
  metadata.whole("llama.attention.head_count", shape.heads);
  metadata.whole("llama.attention.head_count_kv", shape.kv_heads);
  metadata.whole("llama.attention.key_length", shape.head_dim);
  metadata.whole("llama.attention.value_length", shape.head_dim);
  metadata.real("llama.attention.layer_norm_rms_epsilon", shape.norm_eps);
  metadata.whole("llama.rope.dimension_count", shape.head_dim);
  metadata.real("llama.rope.freq_base", shape.rope_theta);
  metadata.whole("llama.vocab_size", shape.vocabulary);
  if (shape.is_moe()) {
    metadata.whole("llama.expert_count", shape.experts);
    metadata.whole("llama.expert_used_count", shape.experts_used);
  }
  const SynthVocabulary vocabulary = synth_vocabulary(shape.vocabulary);
  metadata.text("tokenizer.ggml.model", "llama");
  metadata.texts("tokenizer.ggml.tokens", vocabulary.tokens);
  metadata.reals("tokenizer.ggml.scores", vocabulary.scores);
  metadata.integers("tokenizer.ggml.token_type", vocabulary.types);
  metadata.whole("tokenizer.ggml.unknown_token_id", 0);
  metadata.whole("tokenizer.ggml.bos_token_id", 1);
  metadata.whole("tokenizer.ggml.eos_token_id", 2);
  metadata.boolean("tokenizer.ggml.add_bos_token", true);
  return metadata;
}

// Makes `units` units from `first` on into `buffer`, by all workers.
void make_units(const Fill& fill, std::uint64_t key, std::uint64_t first, std::uint64_t units,
                std::vector<std::byte>& buffer, WorkerPool& pool) {
  std::atomic<std::uint64_t> next{0};
  pool.run([&](unsigned) {
    for (;;) {
      const std::uint64_t from = next.fetch_add(units_per_piece, std::memory_order_relaxed);
      if (from >= units) return;
      const std::uint64_t to = std::min(units, from + units_per_piece);
      for (std::uint64_t i = from; i < to; ++i) {
        fill.make(key, first + i, buffer.data() + i * fill.unit_bytes);
      }
    }
  });
}

}  // namespace

std::optional<SynthType> synth_type(std::string_view name) {
  if (name == "f16") return SynthType::f16;
  if (name == "q8") return SynthType::q8;
  if (name == "q4") return SynthType::q4;
  if (name == "fp8") return SynthType::fp8;
  return std::nullopt;
}

Result<std::uint64_t> synthetic_bytes(const Synth& synth) {
  const auto plan = plan_of(synth);
  if (!plan) return std::unexpected(plan.error());
  return file_bytes(metadata_of(synth), plan->tensors);
}

Result<> write_synthetic(const std::string& path, const Synth& synth, WorkerPool& pool,
                         const CancelToken& cancel, const SynthProgress& progress) {
  const auto plan = plan_of(synth);
  if (!plan) return std::unexpected(plan.error());
  auto writer = Writer::create(path, metadata_of(synth), plan->tensors);
  if (!writer) return std::unexpected(writer.error());
  std::vector<std::byte> buffer;
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < plan->tensors.size(); ++i) {
    const Fill& fill = plan->fills[i];
    const std::uint64_t bytes = plan->tensors[i].bytes();
    const std::uint64_t key = mix(mix(synth.seed) + (i + 1) * golden);
    const std::uint64_t most_units = buffer_bytes / fill.unit_bytes;
    // The last unit of a tensor may be cut.
    const std::uint64_t units = (bytes + fill.unit_bytes - 1) / fill.unit_bytes;
    std::uint64_t left = bytes;
    for (std::uint64_t first = 0; first < units; first += most_units) {
      if (cancel.cancelled())
        return fail(ErrorKind::cancelled, "cancelled; no file was left", path);
      const std::uint64_t now = std::min(most_units, units - first);
      buffer.resize(now * fill.unit_bytes);
      make_units(fill, key, first, now, buffer, pool);
      const std::uint64_t taken = std::min<std::uint64_t>(left, buffer.size());
      if (auto written = writer->write(std::span(buffer).first(taken)); !written) return written;
      left -= taken;
      done += taken;
      if (progress) progress(done, writer->data_bytes());
    }
  }
  return writer->commit();
}

}  // namespace assay::runtime::gguf
