// assay model synth: a GGUF file with random weights.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "runtime/gguf/synth.h"
#include "station/commands/byte_progress.h"
#include "station/commands/model_file_commands.h"
#include "station/commands/whole_number.h"
#include "station/config/model_shape.h"
#include "station/run/signals.h"

namespace assay::station {
namespace {

namespace gguf = runtime::gguf;

struct SynthOptions {
  std::string preset;
  std::string type = "q8";
  std::string output;
  std::string seed = "1";
  bool force = false;
};

// Told before the first byte: a large model takes minutes.
Result<> hold_against_room(const std::string& output, std::uint64_t bytes) {
  std::error_code error;
  const auto folder = std::filesystem::absolute(output, error).parent_path();
  if (!std::filesystem::is_directory(folder, error)) return {};  // what is wrong, writing tells
  const auto space = std::filesystem::space(folder, error);
  if (error || space.available >= bytes) return {};
  return fail(ErrorKind::exhausted,
              fmt::format("the model takes {}, and {} are free", format_gb(bytes),
                          format_gb(space.available)),
              to_printable(folder.string()), "a smaller --type, or another folder");
}

Result<int> run_synth(const SynthOptions& options) {
  const auto signals = CancelledBySignals::take();
  if (!signals) return std::unexpected(signals.error());
  const auto type = gguf::synth_type(options.type);
  if (!type) {
    return fail(ErrorKind::usage, "no type \"" + to_printable(options.type) + "\"", "--type",
                "known are f16, q8, q4, fp8");
  }
  const auto seed = parse_whole_number(options.seed, UINT64_MAX, "--seed");
  if (!seed) return std::unexpected(seed.error());
  const auto shape = find_model_shape(options.preset);
  if (!shape) return std::unexpected(shape.error());
  std::error_code ignored;
  if (!options.force && std::filesystem::exists(options.output, ignored)) {
    return fail(ErrorKind::usage, "is there already", to_printable(options.output),
                "--force  writes over it");
  }
  const gguf::Synth synth{*shape, *type, *seed};
  const auto bytes = gguf::synthetic_bytes(synth);
  if (!bytes) return std::unexpected(bytes.error());
  if (auto room = hold_against_room(options.output, *bytes); !room) {
    return std::unexpected(room.error());
  }
  const std::int64_t begin_ns = monotonic_ns();
  {
    WorkerPool pool;
    ByteProgress progress(*bytes);
    auto written =
        gguf::write_synthetic(options.output, synth, pool, signals->token(),
                              [&](std::uint64_t done, std::uint64_t) { progress.show(done); });
    if (!written) return std::unexpected(written.error());
  }
  fmt::print("{}: {} as {}, seed {}, {} in {}\n", to_printable(options.output),
             to_printable(shape->name), options.type, options.seed, format_gb(*bytes),
             format_seconds(monotonic_ns() - begin_ns));
  return 0;
}

}  // namespace

void add_model_synth(CLI::App& model, Invocation& invocation) {
  auto options = std::make_shared<SynthOptions>();
  CLI::App* synth = model.add_subcommand("synth", "writes a GGUF file with random weights");
  std::string names;
  for (const std::string& name : runtime::shape_names()) names += name + ", ";
  synth->add_option("--preset", options->preset, names + "or a file with a model's sizes")
      ->required();
  synth->add_option("--type", options->type, "of the matrices: f16, q8, q4, fp8")
      ->capture_default_str();
  synth->add_option("--seed", options->seed, "the same gives the same bytes")
      ->capture_default_str();
  synth->add_option("-o,--output", options->output, "the file to write")->required();
  synth->add_flag("--force", options->force, "writes over a file that is there");
  synth->footer(
      "GGUF has no FP8: with fp8 the weights are F16 that FP8 (E4M3) holds without loss.\n"
      "Examples:\n"
      "  assay model synth --preset moe-small --type q8 -o moe-small.gguf\n"
      "  assay model synth --preset dense-27b --type q4 --seed 7 -o dense-27b.gguf");
  synth->callback([options, &invocation] {
    const auto code = run_synth(*options);
    invocation.exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace assay::station
