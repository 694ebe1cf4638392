#include "runtime/model/precision.h"

#include <array>

namespace assay::runtime {
namespace {

using enum TensorType;

const std::array<Precision, 4>& schemes() {
  static const std::array<Precision, 4> all = {{
      // name, embedding, attention, gate and up, down, head
      {"f16", f16, f16, f16, f16, f16},
      {"fp8", fp8_e4m3, fp8_e4m3, fp8_e4m3, fp8_e4m3, fp8_e4m3},
      {"mixed-fp8", int8, fp8_e4m3, int4, fp8_e4m3, f16},
      {"int4", int8, int4, int4, int4, f16},
  }};
  return all;
}

}  // namespace

Result<Precision> find_precision(std::string_view name) {
  std::string known;
  for (const Precision& scheme : schemes()) {
    if (scheme.name == name) return scheme;
    known += (known.empty() ? "" : ", ") + scheme.name;
  }
  return fail(ErrorKind::usage, "no precision \"" + std::string(name) + "\"", {},
              "known are " + known);
}

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  for (const Precision& scheme : schemes()) names.push_back(scheme.name);
  return names;
}

}  // namespace assay::runtime
