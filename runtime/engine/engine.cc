#include "runtime/engine/engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>

#include "base/clock.h"

namespace assay::runtime {
namespace {

// The device's units work as long as this lives.
class ActiveUnits {
 public:
  ActiveUnits(NpuDevice& device, unsigned units) : device_(device) {
    device_.set_active_units(units);
  }
  ~ActiveUnits() { device_.set_active_units(0); }
  ActiveUnits(const ActiveUnits&) = delete;
  ActiveUnits& operator=(const ActiveUnits&) = delete;

 private:
  NpuDevice& device_;
};

TokenId largest(std::span<const float> logits) {
  // max_element returns the first of equal ones.
  return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

bool never() {
  return false;
}

}  // namespace

Engine::Engine(const LoadedModel& model, NpuDevice& device, WorkerPool& pool, std::size_t context,
               const EngineOptions& options)
    : model_(&model),
      device_(&device),
      context_(context),
      prefill_chunk_(options.prefill_chunk),
      units_(options.units == 0 ? device.units() : options.units),
      forward_(std::make_unique<ForwardPass>(model, pool, context)) {}

Result<Engine> Engine::create(const LoadedModel& model, NpuDevice& device, WorkerPool& pool,
                              const EngineOptions& options) {
  const std::size_t most = model.layout().shape.context;
  const std::size_t context = options.context == 0 ? most : options.context;
  if (context > most) {
    return fail(ErrorKind::usage,
                fmt::format("{} positions, the model is made for {}", context, most), "context");
  }
  if (options.prefill_chunk < 1 || options.prefill_chunk > max_batch) {
    return fail(ErrorKind::usage,
                fmt::format("{} is not in 1..{}", options.prefill_chunk, max_batch),
                "prefill_chunk");
  }
  if (options.units > device.units()) {
    return fail(ErrorKind::usage,
                fmt::format("{} units, the device has {}", options.units, device.units()), "units");
  }
  try {
    return Engine(model, device, pool, context, options);
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::exhausted,
                fmt::format("no memory for the KV cache of {} positions", context), {},
                "a smaller context needs less");
  }
}

Result<> Engine::check(std::span<const TokenId> prompt, std::size_t max_tokens) const {
  if (prompt.empty()) return fail(ErrorKind::usage, "the prompt is empty");
  if (prompt.size() > context_ || max_tokens > context_ - prompt.size()) {
    return fail(ErrorKind::usage,
                fmt::format("context length overflow: {} tokens, the context holds {}",
                            prompt.size() + max_tokens, context_));
  }
  const std::uint32_t vocabulary = model_->layout().shape.vocabulary;
  for (const TokenId id : prompt) {
    if (id >= vocabulary) {
      return fail(ErrorKind::usage, fmt::format("token {} is not in 0..{}", id, vocabulary - 1));
    }
  }
  return {};
}

Result<> Engine::pass(std::span<const TokenId> ids, bool with_logits,
                      const std::function<bool()>& stop) {
  const std::int64_t start = monotonic_ns();
  if (!forward_->run(ids, position_, with_logits, stop)) {
    return fail(ErrorKind::cancelled, "the generation was cancelled");
  }
  position_ += ids.size();
  device_->pace(monotonic_ns() - start);
  return {};
}

Result<> Engine::prefill(std::span<const TokenId> prompt, const std::function<bool()>& stop) {
  position_ = 0;
  forward_->clear_counts();
  while (!prompt.empty()) {
    const auto chunk = prompt.first(std::min(prefill_chunk_, prompt.size()));
    prompt = prompt.subspan(chunk.size());
    if (auto passed = pass(chunk, prompt.empty(), stop); !passed) return passed;
  }
  return {};
}

Result<std::span<const float>> Engine::evaluate(std::span<const TokenId> ids) {
  if (auto good = check(ids, 0); !good) return std::unexpected(good.error());
  const ActiveUnits active(*device_, units_);
  if (auto done = prefill(ids, never); !done) return std::unexpected(done.error());
  return forward_->logits();
}

Result<Generation> Engine::generate(std::span<const TokenId> prompt, std::size_t max_tokens,
                                    const GenerationCallbacks& callbacks) {
  if (max_tokens == 0) return fail(ErrorKind::usage, "no tokens to generate");
  if (auto good = check(prompt, max_tokens); !good) return std::unexpected(good.error());

  Generation made;
  made.tokens.reserve(max_tokens);
  made.per_token_ns.reserve(max_tokens - 1);
  made.prefill_tokens = prompt.size();
  made.bytes_read_per_token = model_->layout().bytes_read_per_token();
  made.layers_computed = model_->layout().layers_computed;
  const std::function<bool()>& stop = callbacks.cancelled ? callbacks.cancelled : never;

  const ActiveUnits active(*device_, units_);
  std::int64_t last = monotonic_ns();
  while (made.tokens.size() < max_tokens) {
    const auto passed =
        made.tokens.empty() ? prefill(prompt, stop) : pass({&made.tokens.back(), 1}, true, stop);
    if (!passed) return std::unexpected(passed.error());
    const TokenId id = largest(forward_->logits());
    const std::int64_t now = monotonic_ns();
    if (made.tokens.empty()) {
      made.first_token_ns = now - last;
    } else {
      made.per_token_ns.push_back(now - last);
    }
    made.tokens.push_back(id);
    if (callbacks.on_token) callbacks.on_token(made.tokens.size() - 1, id, now - last);
    last = now;
  }
  const std::size_t experts = model_->layout().shape.experts;
  const auto counts = forward_->expert_counts();
  for (std::size_t at = 0; at < counts.size(); at += experts) {
    const auto layer = counts.subspan(at, experts);
    made.expert_counts.emplace_back(layer.begin(), layer.end());
  }
  return made;
}

}  // namespace assay::runtime
