#include "station/config/model_shape.h"

#include <array>

#include "station/config/reader.h"

namespace assay::station {
namespace {

struct SizeField {
  const char* key;
  std::uint32_t runtime::ModelShape::*member;
  bool of_experts = false;  // a dense model has none
};

constexpr std::array<SizeField, 10> size_fields = {{
    {"layers", &runtime::ModelShape::layers},
    {"width", &runtime::ModelShape::width},
    {"heads", &runtime::ModelShape::heads},
    {"kv_heads", &runtime::ModelShape::kv_heads},
    {"head_dim", &runtime::ModelShape::head_dim},
    {"ffn", &runtime::ModelShape::ffn},
    {"vocabulary", &runtime::ModelShape::vocabulary},
    {"experts", &runtime::ModelShape::experts, true},
    {"experts_used", &runtime::ModelShape::experts_used, true},
    {"context", &runtime::ModelShape::context},
}};

}  // namespace

Result<runtime::ModelShape> parse_model_shape(const LocatedJson& file) {
  std::optional<Error> error;
  runtime::ModelShape shape;
  ObjectReader r(file, "", error);
  if (!r.failed() && r.text("schema") != "assay/model/1") {
    r.refuse("schema", "\"schema\": expected assay/model/1");
  }
  shape.name = r.text("name");
  for (const SizeField& field : size_fields) {
    if (field.of_experts && !r.has(field.key)) continue;
    shape.*field.member = static_cast<std::uint32_t>(r.integer(field.key, 0, UINT32_MAX));
  }
  if (!r.failed()) {
    if (const auto sound = runtime::validate(shape); !sound) {
      r.refuse(sound.error().where, "\"" + sound.error().where + "\": " + sound.error().what);
    }
  }
  r.finish();
  if (error) return std::unexpected(*error);
  return shape;
}

Result<runtime::ModelShape> find_model_shape(const std::string& name) {
  if (name.find('/') == std::string::npos && !name.ends_with(".json")) {
    return runtime::find_shape(name);
  }
  const auto file = LocatedJson::read(name);
  if (!file) return std::unexpected(file.error());
  return parse_model_shape(*file);
}

}  // namespace assay::station
