// The model that a GGUF file holds: its sizes from the metadata, each tensor there and of the shape
// that they demand, and none beside those.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "runtime/gguf/architecture.h"
#include "runtime/gguf/index.h"
#include "runtime/model/shape.h"

namespace assay::runtime::gguf {

struct Model {
  ModelShape shape;                            // its name is general.name, or the architecture's
  const Architecture* architecture = nullptr;  // never null once read
  std::uint32_t shared_ffn = 0;  // hidden width of the shared expert; 0: there is none
  float rope_scale = 1.0F;       // positions are divided by it
  bool rope_factors = false;     // "rope_freqs.weight" divides each pair's frequency
  bool tied_head = false;        // the embedding table is the output head too
  // Some files hold each expert in a tensor of its own instead of all in one with three dimensions.
  bool split_experts = false;
};

// A tensor that the sizes demand.
struct Expected {
  std::string name;
  std::array<std::uint64_t, 4> dims = {1, 1, 1, 1};
  bool is_matrix = false;  // else F32: gains, biases and gates that are a vector
};

// Shows each to `visit`, in the order of computing, until that returns an error, which is returned.
Result<> visit_expected(const Model& model, const std::function<Result<>(const Expected&)>& visit);

// Errors: bad_file, one line with the key or the tensor that is wrong; `where` is left to the
// caller.
Result<Model> read_model(const Index& index);

}  // namespace assay::runtime::gguf
