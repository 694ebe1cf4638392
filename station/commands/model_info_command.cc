// assay model info: what a GGUF file holds, and whether it is right.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/units.h"
#include "base/utf8.h"
#include "runtime/gguf/gguf_file.h"
#include "runtime/gguf/model.h"
#include "runtime/quant/weight_statistics.h"
#include "station/commands/byte_progress.h"
#include "station/commands/model_file_commands.h"
#include "station/run/signals.h"

namespace assay::station {
namespace {

namespace gguf = runtime::gguf;
using Json = nlohmann::ordered_json;

struct InfoOptions {
  std::string file;
  bool tensors = false;
  bool check_weights = false;
  bool json = false;
};

struct TypeShare {
  std::uint64_t tensors = 0;
  std::uint64_t weights = 0;
  std::uint64_t bytes = 0;
};

std::map<std::string_view, TypeShare> share_by_type(const gguf::Index& index) {
  std::map<std::string_view, TypeShare> shares;
  for (const gguf::Tensor& tensor : index.tensors()) {
    TypeShare& share = shares[runtime::block_of(tensor.type).name];
    ++share.tensors;
    share.weights += tensor.elements();
    share.bytes += tensor.bytes;
  }
  return shares;
}

std::uint64_t weights_in(const gguf::Index& index) {
  std::uint64_t all = 0;
  for (const gguf::Tensor& tensor : index.tensors()) all += tensor.elements();
  return all;
}

// As the file has it: "32 x 16".
std::string dims_of(const gguf::Tensor& tensor) {
  std::string text = std::to_string(tensor.dims[0]);
  for (std::uint32_t i = 1; i < tensor.dim_count; ++i) {
    text += fmt::format(" x {}", tensor.dims[i]);
  }
  return text;
}

std::string count_of(std::uint64_t weights) {
  const auto number = static_cast<double>(weights);
  if (number >= 1e9) return fmt::format("{:.2f} billion", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.2f} million", number / 1e6);
  return fmt::format("{}", weights);
}

Json to_json(const gguf::GgufFile& file, const gguf::Model& model) {
  const runtime::ModelShape& shape = model.shape;
  const gguf::Index& index = file.index();
  Json json{{"schema", "assay/model-info/1"},
            {"file", to_valid_utf8(file.path())},
            {"format", "GGUF"},
            {"version", index.version()},
            {"bytes", file.file_bytes()},
            {"architecture", model.architecture->name},
            {"name", to_valid_utf8(shape.name)},
            {"parameters", weights_in(index)},
            {"layers", shape.layers},
            {"width", shape.width},
            {"heads", shape.heads},
            {"kv_heads", shape.kv_heads},
            {"head_dim", shape.head_dim},
            {"ffn", shape.ffn},
            {"vocabulary", shape.vocabulary},
            {"context", shape.context},
            {"rope_theta", shape.rope_theta},
            {"norm_eps", shape.norm_eps},
            {"tied_head", model.tied_head}};
  if (shape.is_moe()) {
    json["experts"] = shape.experts;
    json["experts_used"] = shape.experts_used;
    if (model.shared_ffn != 0) json["shared_ffn"] = model.shared_ffn;
  }
  Json types = Json::object();
  for (const auto& [name, share] : share_by_type(index)) {
    types[std::string(name)] = {
        {"tensors", share.tensors}, {"weights", share.weights}, {"bytes", share.bytes}};
  }
  json["types"] = std::move(types);
  Json metadata = Json::object();
  for (const gguf::Entry& entry : index.metadata()) {
    metadata[std::string(entry.key)] = entry.value.shown();
  }
  json["metadata"] = std::move(metadata);
  Json tensors = Json::array();
  for (const gguf::Tensor& tensor : index.tensors()) {
    Json dims = Json::array();
    for (std::uint32_t i = 0; i < tensor.dim_count; ++i) dims.push_back(tensor.dims[i]);
    tensors.push_back({{"name", tensor.name},
                       {"type", runtime::block_of(tensor.type).name},
                       {"dims", std::move(dims)},
                       {"offset", tensor.offset},
                       {"bytes", tensor.bytes}});
  }
  json["tensors"] = std::move(tensors);
  return json;
}

void print_sizes(const gguf::Index& index, const gguf::Model& model) {
  const runtime::ModelShape& shape = model.shape;
  fmt::print("  Model       {} ({})\n", to_printable(shape.name), model.architecture->name);
  fmt::print("  Parameters  {}\n", count_of(weights_in(index)));
  fmt::print("  Layers      {} of width {}; {} heads of {}, {} of keys and values\n", shape.layers,
             shape.width, shape.heads, shape.head_dim, shape.kv_heads);
  if (shape.is_moe()) {
    fmt::print(
        "  Experts     {} of width {}, {} used a token{}\n", shape.experts, shape.ffn,
        shape.experts_used,
        model.shared_ffn == 0 ? "" : fmt::format("; a shared one of width {}", model.shared_ffn));
  } else {
    fmt::print("  FFN         width {}\n", shape.ffn);
  }
  fmt::print("  Context     {} tokens\n", shape.context);
  const gguf::Value* tokenizer = index.find("tokenizer.ggml.model");
  fmt::print("  Vocabulary  {} tokens{}{}\n", shape.vocabulary,
             tokenizer == nullptr ? ", without a tokenizer" : ", tokenizer " + tokenizer->shown(),
             model.tied_head ? "; the embedding is the head too" : "");
}

void print_text(const gguf::GgufFile& file, const gguf::Model& model, bool with_tensors) {
  const gguf::Index& index = file.index();
  fmt::print("{}: GGUF version {}, {}\n", to_printable(file.path()), index.version(),
             format_gb(file.file_bytes()));
  print_sizes(index, model);
  fmt::print("\n  {:<6} {:>9} {:>15} {:>15}\n", "type", "tensors", "weights", "bytes");
  for (const auto& [name, share] : share_by_type(index)) {
    fmt::print("  {:<6} {:>9} {:>15} {:>15}\n", name, share.tensors, share.weights, share.bytes);
  }
  fmt::print("\n  Metadata\n");
  for (const gguf::Entry& entry : index.metadata()) {
    fmt::print("    {} = {}\n", entry.key, entry.value.shown());
  }
  if (!with_tensors) return;
  fmt::print("\n  {:<36} {:<6} {:<24} {:>14} {:>14}\n", "tensor", "type", "columns x rows",
             "offset", "bytes");
  for (const gguf::Tensor& tensor : index.tensors()) {
    fmt::print("  {:<36} {:<6} {:<24} {:>14} {:>14}\n", tensor.name,
               runtime::block_of(tensor.type).name, dims_of(tensor), tensor.offset, tensor.bytes);
  }
}

Result<std::vector<runtime::WeightStatistics>> read_weights(const gguf::GgufFile& file,
                                                            const CancelToken& cancel) {
  std::vector<runtime::WeightStatistics> all;
  WorkerPool pool;
  ByteProgress progress(file.file_bytes());
  std::uint64_t done = 0;
  for (const gguf::Tensor& tensor : file.index().tensors()) {
    const auto read = runtime::weight_statistics(tensor.type, file.bytes_of(tensor), pool, cancel);
    if (!read) return std::unexpected(read.error());
    all.push_back(*read);
    progress.show(done += tensor.bytes);
  }
  return all;
}

Json to_json(const gguf::Tensor& tensor, const runtime::WeightStatistics& weights) {
  return {{"name", tensor.name}, {"not_finite", weights.not_finite}, {"zeros", weights.zeros},
          {"rms", weights.rms},  {"least", weights.least},           {"most", weights.most}};
}

// The tensors' statistics, and whether all weights are finite.
bool print_weights(const gguf::Index& index,
                   const std::vector<runtime::WeightStatistics>& weights) {
  std::uint64_t not_finite = 0;
  fmt::print("\n  {:<36} {:>10} {:>11} {:>11} {:>11}\n", "weights of", "rms", "least", "most",
             "not finite");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const runtime::WeightStatistics& each = weights[i];
    fmt::print("  {:<36} {:>10.4g} {:>11.4g} {:>11.4g} {:>11}\n", index.tensors()[i].name, each.rms,
               each.least, each.most, each.not_finite);
    not_finite += each.not_finite;
  }
  if (not_finite != 0) {
    fmt::print("\n  {} weights are NaN or infinite: the file is damaged, or was made wrong\n",
               not_finite);
  }
  return not_finite == 0;
}

Result<int> run_info(const InfoOptions& options) {
  const auto signals = CancelledBySignals::take();
  if (!signals) return std::unexpected(signals.error());
  const auto file = gguf::GgufFile::open(options.file);
  if (!file) return std::unexpected(file.error());
  auto model = gguf::read_model(file->index());
  if (!model) {
    model.error().where = options.file;
    return std::unexpected(model.error());
  }
  std::vector<runtime::WeightStatistics> weights;
  if (options.check_weights) {
    auto read = read_weights(*file, signals->token());
    if (!read) return std::unexpected(read.error());
    weights = std::move(*read);
  }
  bool all_finite = true;
  if (options.json) {
    Json json = to_json(*file, *model);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      all_finite = all_finite && weights[i].not_finite == 0;
      json["weights"].push_back(to_json(file->index().tensors()[i], weights[i]));
    }
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print_text(*file, *model, options.tensors);
    if (options.check_weights) all_finite = print_weights(file->index(), weights);
  }
  return all_finite ? 0 : 1;
}

}  // namespace

void add_model_info(CLI::App& model, Invocation& invocation) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* info = model.add_subcommand("info", "what a GGUF file holds, and whether it is right");
  info->add_option("file", options->file, "a GGUF file")->required();
  info->add_flag("--tensors", options->tensors, "each tensor too");
  info->add_flag("--check-weights", options->check_weights,
                 "read all weights: their size, and whether one is NaN or infinite");
  info->add_flag("--json", options->json, "as JSON, each tensor included");
  info->footer(
      "Index and sizes are checked; weights are read with --check-weights alone. Exit code 1: a\n"
      "weight is NaN or infinite; 2: no model that is read here, and why.\n"
      "Examples:\n"
      "  assay model info model.gguf\n"
      "  assay model info model.gguf --tensors --check-weights\n"
      "  assay model info model.gguf --json | jq .types");
  info->callback([options, &invocation] {
    const auto code = run_info(*options);
    invocation.exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace assay::station
