#include "probes/workload/workload_generate.h"

#include <fmt/core.h>

#include <random>

#include "base/clock.h"
#include "base/units.h"
#include "probes/workload/model_load.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/latency.h"

namespace assay::probes {
namespace {

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

struct Model {
  runtime::ModelShape shape;
  runtime::Precision precision;
  std::uint32_t layers = 0;  // that are computed
};

Result<Model> model_of(const Parameters& parameters) {
  const auto at = [](Error error, const char* parameter) {
    error.where = parameter;
    return std::unexpected(std::move(error));
  };
  const auto shape = runtime::find_shape(parameters.text("model"));
  if (!shape) return at(shape.error(), "model");
  const auto precision = runtime::find_precision(parameters.text("precision"));
  if (!precision) return at(precision.error(), "precision");
  const std::uint64_t layers = parameters.number("layers", shape->layers);
  if (layers > shape->layers) {
    return fail(ErrorKind::usage,
                fmt::format("{} has {} layers, {} asked for", shape->name, shape->layers, layers),
                "layers");
  }
  return Model{*shape, *precision, static_cast<std::uint32_t>(layers)};
}

Result<> check(const Parameters& parameters) {
  const auto model = model_of(parameters);
  if (!model) return std::unexpected(model.error());
  const std::uint64_t prompt_tokens = parameters.number("prompt_tokens", 1);
  const std::uint64_t tokens = parameters.number("tokens", 1);
  const std::uint64_t holds = model->shape.context;
  if (prompt_tokens > holds || tokens > holds - prompt_tokens) {
    return fail(ErrorKind::usage,
                fmt::format("context length overflow: {} + {} tokens, the context holds {}",
                            prompt_tokens, tokens, holds),
                "prompt_tokens");
  }
  return {};
}

Result<runtime::Layout> layout_of(const Parameters& parameters, std::uint64_t max_chunk_bytes) {
  const auto model = model_of(parameters);
  if (!model) return std::unexpected(model.error());
  return runtime::plan_layout(model->shape, model->precision, model->layers, max_chunk_bytes);
}

Result<> preflight(const Bench& bench, const Parameters& parameters) {
  const auto layout = layout_of(parameters, bench.npu.max_chunk_bytes());
  if (!layout) return std::unexpected(layout.error());
  // The weights lie in this machine's memory, whatever board stands before them.
  const auto available = bench.ram.available();
  if (!available) return std::unexpected(available.error());
  if (layout->computed_bytes() > *available) {
    return fail(ErrorKind::usage,
                fmt::format("{} of {} layers of {} take {}; this machine can spare {} now",
                            layout->layers_computed, layout->shape.layers, layout->shape.name,
                            format_gib(layout->computed_bytes()), format_gib(*available)),
                "layers", "compute fewer layers");
  }
  return {};
}

std::vector<runtime::TokenId> make_prompt(std::uint64_t seed, std::uint64_t tokens,
                                          std::uint32_t vocabulary) {
  std::mt19937_64 random(seed);
  std::vector<runtime::TokenId> prompt(tokens);
  for (auto& id : prompt) id = static_cast<runtime::TokenId>(random() % vocabulary);
  return prompt;
}

void record(StepContext& context, const runtime::Generation& generation) {
  reports::StepRecorder& recorder = context.recorder;
  std::int64_t decode_ns = 0;
  for (const std::int64_t ns : generation.per_token_ns) decode_ns += ns;
  recorder.measure("first_token", seconds(generation.first_token_ns), "s");
  if (!generation.per_token_ns.empty()) {
    const double rate = static_cast<double>(generation.per_token_ns.size()) / seconds(decode_ns);
    recorder.measure("per_token_p50", seconds(runtime::percentile(generation.per_token_ns, 50)),
                     "s");
    const double p99 = seconds(runtime::percentile(generation.per_token_ns, 99));
    if (!recorder.measure("per_token_p99", p99, "s")) {
      recorder.finding({.code = "NPU_SLOW",
                        .message = fmt::format("99 of 100 tokens took up to {:.3f} s.", p99),
                        .evidence = {fmt::format("{:.1f} tokens/s", rate)}});
    }
    recorder.measure("tokens_per_second", rate, "{token}/s");
    recorder.measure("weights_bandwidth",
                     rate * static_cast<double>(generation.bytes_read_per_token) / 1e9, "GBy/s");
    recorder.headline(fmt::format("{:.1f} tok/s", rate));
  }
  std::string ids;
  for (const auto id : generation.tokens) ids += (ids.empty() ? "" : " ") + std::to_string(id);
  recorder.extension("assay.tokens", {{"ids", ids}});
  if (generation.expert_counts.empty()) return;
  std::uint64_t used = 0;
  std::uint64_t of = 0;
  for (const auto& layer : generation.expert_counts) {
    for (const std::uint64_t count : layer) {
      used += count > 0 ? 1 : 0;
      ++of;
    }
  }
  recorder.measure("experts_used", static_cast<double>(used) / static_cast<double>(of), "1");
  recorder.extension("assay.experts", {{"tokens_per_layer_and_expert", generation.expert_counts}});
}

Result<> run_workload(StepContext& context) {
  const Bench& bench = context.bench;
  auto layout = layout_of(context.parameters, bench.npu.max_chunk_bytes());
  if (!layout) return std::unexpected(layout.error());
  context.recorder.extension("assay.model",
                             {{"name", layout->shape.name},
                              {"precision", layout->precision.name},
                              {"parameters", layout->shape.parameters()},
                              {"active_parameters", layout->shape.active_parameters()},
                              {"layers", layout->shape.layers},
                              {"layers_computed", layout->layers_computed},
                              {"mapped_bytes", layout->mapped_bytes()},
                              {"computed_bytes", layout->computed_bytes()}});
  if (layout->layers_computed < layout->shape.layers) {
    context.recorder.log(reports::Severity::info,
                         fmt::format("{} of {} layers are computed, all are mapped",
                                     layout->layers_computed, layout->shape.layers));
  }
  const std::uint64_t seed = context.parameters.number("seed", 1);
  auto model = load_model(context, std::move(*layout), seed);
  if (!model) return std::unexpected(model.error());
  if (!*model) return {};  // the board could not map it: reported

  const std::uint64_t tokens = context.parameters.number("tokens", 1);
  const auto prompt = make_prompt(seed, context.parameters.number("prompt_tokens", 1),
                                  (*model)->layout().shape.vocabulary);
  runtime::EngineOptions options;
  options.context = prompt.size() + tokens;
  auto engine = runtime::Engine::create(**model, bench.npu, bench.workers, options);
  if (!engine) return std::unexpected(engine.error());
  const auto series = context.recorder.series("token_latency", "s");
  const auto generation = engine->generate(
      prompt, tokens,
      {.on_token =
           [&](std::size_t index, runtime::TokenId, std::int64_t elapsed_ns) {
             if (index > 0) series->add(seconds(elapsed_ns));
             context.recorder.progress(
                 index + 1, tokens,
                 fmt::format("{} {}  token {} of {}", (*model)->layout().shape.name,
                             (*model)->layout().precision.name, index + 1, tokens));
           },
       .cancelled = [&] { return context.cancelled(); }});
  if (!generation) return std::unexpected(generation.error());
  record(context, *generation);
  return {};
}

}  // namespace

Probe workload_generate_probe() {
  return {
      .name = "workload.generate",
      .summary = "load a model through the board's memory rules and generate tokens",
      .parameters = {{"model", ParameterType::text, "dense-27b, moe-7b-a2.4b, ...", true},
                     {"precision", ParameterType::text, "f16, fp8, mixed-fp8, int4", true},
                     {"layers", ParameterType::count, "layers that are computed; all by default"},
                     {"prompt_tokens", ParameterType::count, "length of the prompt", true},
                     {"tokens", ParameterType::count, "tokens to generate", true},
                     {"seed", ParameterType::count, "of weights and prompt"}},
      .measurements = {{"first_token", "s", "from the prompt to the first token", true},
                       {"per_token_p50", "s", "median of the later tokens"},
                       {"per_token_p99", "s", "99th percentile of the later tokens", true},
                       {"tokens_per_second", "{token}/s", "of the later tokens"},
                       {"weights_bandwidth", "GBy/s", "weights read while decoding"},
                       {"experts_used", "1", "share of all experts that got a token"},
                       {"mapped_bytes", "By", "memory that the model has mapped"},
                       {"load_time", "s", "mapping and filling the weights"},
                       {"pool_largest_free_block", "By", "flushed and defragmented"},
                       {"token_latency", "s", "of each later token"}},
      .check = check,
      .preflight = preflight,
      .run = run_workload,
      .monitor = nullptr};
}

}  // namespace assay::probes
