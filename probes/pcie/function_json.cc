#include "probes/pcie/function_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "probes/pcie/link_judge.h"
#include "probes/pcie/register_text.h"

namespace assay::probes {

nlohmann::json to_json(const PciFunction& f) {
  nlohmann::json one{{"address", f.address},
                     {"id", fmt::format("{:04x}:{:04x}", f.vendor, f.device)},
                     {"class", fmt::format("{:#06x}", f.class_code)},
                     {"bytes_read", f.bytes_read}};
  if (f.cut) one["cut"] = "the capabilities go on behind the bytes that could be read";
  if (f.capabilities.broken || f.extended_list.broken) {
    one["broken"] = "its list of capabilities goes in a circle";
  }
  if (f.express) one["type"] = to_text(f.express->type);
  if (const Link* link = f.link()) {
    one["link"] = describe_link(link->speed_gts, link->width);
    one["link_max"] = describe_link(link->max_speed_gts, link->max_width);
  }
  auto& registers = one["registers"] = nlohmann::json::array();
  for (const RegisterText& line : register_texts(f)) {
    registers.push_back(fmt::format("{}: {:#x}: {}", line.name, line.value, line.text));
  }
  return one;
}

}  // namespace assay::probes
