#include "station/config/plan.h"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/units.h"
#include "probes/catalog.h"
#include "reports/findings/finding.h"
#include "station/config/reader.h"

namespace assay::station {
namespace {

using nlohmann::json;
using reports::Comparison;

template <class Specs>
std::string names_of(const Specs& specs) {
  std::string all;
  for (const auto& spec : specs) all += (all.empty() ? "" : ", ") + spec.name;
  return all.empty() ? "none" : all;
}

template <class Specs>
const typename Specs::value_type* find_spec(const Specs& specs, const std::string& name) {
  const auto found =
      std::find_if(specs.begin(), specs.end(), [&](const auto& s) { return s.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

const probes::Probe* read_use(ObjectReader& r, bool as_monitor) {
  const std::string use = r.text("use");
  if (r.failed()) return nullptr;
  const probes::Probe* probe = probes::find_probe(use);
  const auto usable = [&](const probes::Probe& p) {
    return as_monitor ? p.monitor != nullptr : p.run != nullptr;
  };
  if (probe != nullptr && usable(*probe)) return probe;
  std::string expected;
  for (const probes::Probe& p : probes::catalog()) {
    if (usable(p)) expected += (expected.empty() ? "" : ", ") + p.name;
  }
  r.refuse("use", fmt::format("no {} \"{}\": expected one of {}", as_monitor ? "monitor" : "probe",
                              use, expected));
  return nullptr;
}

reports::Value limit_value(const json& j) {
  // Beyond 64 bits with a sign a limit is compared as a floating-point number, never wrapped.
  if (j.is_number_unsigned() && j.get<std::uint64_t>() > INT64_MAX) return j.get<double>();
  if (j.is_number_integer()) return j.get<std::int64_t>();
  if (j.is_number()) return j.get<double>();
  return j.is_string() ? j.get<std::string>() : std::string();
}

void read_limit(ObjectReader& r, const probes::MeasurementSpec& spec, reports::Limit& limit) {
  limit.measurement = spec.name;
  const bool has_unit = spec.unit != "1" && !spec.unit.empty();
  if (has_unit || r.has("unit")) {
    const std::string unit = r.text("unit");
    if (!r.failed() && unit != spec.unit) {
      r.refuse("unit", fmt::format("{}unit \"{}\" for {}: expected {}",
                                   is_known_unit(unit) ? "" : "unknown ", unit, spec.name,
                                   spec.unit.empty() ? "none" : spec.unit));
    }
  }
  const auto add = [&](const char* key, Comparison comparison) {
    if (!r.has(key)) return;
    const json& j = r.raw(key);
    const bool fits = spec.semantic_version
                          ? j.is_string() && parse_semantic_version(j.get<std::string>())
                          : j.is_number();
    if (!fits) {
      r.refuse(key, fmt::format("\"{}\" of {}: expected {}", key, spec.name,
                                spec.semantic_version ? "a version such as 2.3.1" : "a number"));
      return;
    }
    limit.validators.push_back(
        reports::make_validator(comparison, limit_value(j), spec.unit, spec.semantic_version));
  };
  add("equal", Comparison::equal);
  add("not_equal", Comparison::not_equal);
  add("at_least", Comparison::greater_or_equal);
  add("at_most", Comparison::less_or_equal);
  add("above", Comparison::greater);
  add("below", Comparison::less);
  r.finish();
  if (!r.failed() && limit.validators.empty()) {
    r.refuse("", fmt::format("no limit for {}: expected equal, not_equal, at_least, at_most, above "
                             "or below",
                             spec.name));
  }
  if (!r.failed() && !reports::can_be_satisfied(limit.validators)) {
    std::string all;
    for (const auto& v : limit.validators) all += (all.empty() ? "" : " and ") + v.name;
    r.refuse("", fmt::format("no {} is {}", spec.name, all));
  }
}

std::vector<reports::Limit> read_limits(ObjectReader& r, const probes::Probe& probe,
                                        bool check_required) {
  std::vector<reports::Limit> limits;
  r.optional_object("limits", [&](ObjectReader& all) {
    for (const std::string& name : all.keys()) {
      const auto* spec = find_spec(probe.measurements, name);
      if (spec == nullptr) {
        all.refuse(name, fmt::format("{} measures no \"{}\": expected one of {}", probe.name, name,
                                     names_of(probe.measurements)));
        return;
      }
      all.object(name, [&](ObjectReader& one) { read_limit(one, *spec, limits.emplace_back()); });
    }
  });
  if (!check_required) return limits;
  for (const auto& spec : probe.measurements) {
    const bool given = std::any_of(limits.begin(), limits.end(), [&](const reports::Limit& l) {
      return l.measurement == spec.name;
    });
    if (spec.limit_required && !given) {
      r.refuse("",
               fmt::format("a limit for {} is missing: {} is judged by it", spec.name, probe.name),
               fmt::format("add \"limits\": {{ \"{}\": {{ ... }} }}", spec.name));
    }
  }
  return limits;
}

void read_parameters(ObjectReader& r, const probes::Probe& probe, probes::Parameters& parameters) {
  r.optional_object("with", [&](ObjectReader& with) {
    for (const std::string& name : with.keys()) {
      const auto* spec = find_spec(probe.parameters, name);
      if (spec == nullptr) {
        with.refuse(name, fmt::format("{} takes no \"{}\": expected one of {}", probe.name, name,
                                      names_of(probe.parameters)));
        return;
      }
      auto value = parse_parameter(*spec, with.raw(name));
      if (!value) {
        with.refuse(name, fmt::format("\"{}\": {}", name, value.error().what));
        return;
      }
      parameters.set(name, std::move(*value));
    }
  });
  for (const auto& spec : probe.parameters) {
    if (spec.required && !parameters.has(spec.name)) {
      r.refuse("", fmt::format("\"with\" lacks \"{}\" ({})", spec.name, spec.help));
    }
  }
  if (r.failed() || !probe.check) return;
  const auto checked = probe.check(parameters);
  if (checked) return;
  const Error& error = checked.error();
  r.object("with", [&](ObjectReader& with) {
    (void)with.keys();
    with.refuse(with.has(error.where) ? error.where : "",
                fmt::format("\"{}\": {}", error.where, error.what), error.hint);
  });
}

void read_step(ObjectReader& r, Plan& plan, std::set<std::string>& ids) {
  PlanStep step;
  step.id = r.text("id");
  static const RE2 id_pattern("[a-z0-9][a-z0-9._-]{0,63}");
  if (!r.failed() && !RE2::FullMatch(step.id, id_pattern)) {
    r.refuse("id", "\"id\": expected up to 64 of a-z 0-9 . _ -");
  }
  if (!r.failed() && !ids.insert(step.id).second) {
    r.refuse("id", fmt::format("a second step \"{}\": expected ids that differ", step.id));
  }
  step.probe = read_use(r, false);
  if (step.probe == nullptr) return;
  read_parameters(r, *step.probe, step.parameters);
  step.limits = read_limits(r, *step.probe, true);
  if (r.has("timeout")) {
    const auto timeout = parse_duration_ns(r.text("timeout"));
    if (!timeout || *timeout == 0) {
      r.refuse("timeout", "\"timeout\": expected a duration such as 30s or 10min");
    } else {
      step.timeout_ns = *timeout;
    }
  }
  step.required = r.boolean_or("required", true);
  r.optional_object("repairs", [&](ObjectReader& repairs) {
    step.repairs = repairs.text("step");
    step.repairs_fault = repairs.text("finding");
    if (!repairs.failed() && (step.repairs == step.id || !ids.contains(step.repairs))) {
      repairs.refuse("step", fmt::format("no step \"{}\" before this one", step.repairs));
    }
    if (!repairs.failed() && reports::find_catalog_entry(step.repairs_fault) == nullptr) {
      repairs.refuse("finding", fmt::format("there is no finding {}", step.repairs_fault));
    }
  });
  plan.steps.push_back(std::move(step));
}

void read_monitor(ObjectReader& r, Plan& plan) {
  PlanMonitor monitor;
  monitor.probe = read_use(r, true);
  if (monitor.probe == nullptr) return;
  monitor.hz = r.number("hz", 0.01, 50);
  monitor.limits = read_limits(r, *monitor.probe, false);
  monitor.stops_step = r.boolean_or("stop", false);
  plan.monitors.push_back(std::move(monitor));
}

}  // namespace

Result<probes::ParameterValue> parse_parameter(const probes::ParameterSpec& spec,
                                               const json& value) {
  const auto expected = [](const char* what) {
    return fail(ErrorKind::usage, std::string("expected ") + what);
  };
  switch (spec.type) {
    case probes::ParameterType::text:
      if (!value.is_string() || value.get_ref<const std::string&>().empty())
        return expected("text");
      return value.get<std::string>();
    case probes::ParameterType::text_list: {
      if (!value.is_array() || value.empty() ||
          !std::all_of(value.begin(), value.end(), [](const json& j) {
            return j.is_string() && !j.get_ref<const std::string&>().empty();
          })) {
        return expected("a list of texts");
      }
      return value.get<std::vector<std::string>>();
    }
    case probes::ParameterType::size: {
      if (!value.is_string()) {
        return expected("a size such as \"512MiB\" or \"85%\", or \"available\"");
      }
      if (value == "available") return probes::AvailableSize{};
      if (const auto text = value.get<std::string>(); text.ends_with('%')) {
        unsigned percent = 0;
        const char* end = text.data() + text.size() - 1;
        const auto [at, error] = std::from_chars(text.data(), end, percent);
        if (error != std::errc{} || at != end || percent < 1 || percent > 100) {
          return expected("a share from 1% to 100%");
        }
        return probes::MemoryShare{percent};
      }
      const auto bytes = parse_size(value.get<std::string>());
      if (!bytes) return std::unexpected(bytes.error());
      if (*bytes == 0) return expected("a size above 0");
      return *bytes;
    }
    case probes::ParameterType::count:
      if (!value.is_number_integer() || value.get<double>() < 1 || value.get<double>() > 1e15) {
        return expected("a whole number from 1 to 1000000000000000");
      }
      return value.get<std::uint64_t>();
    case probes::ParameterType::duration: {
      if (!value.is_string()) return expected("a duration such as \"30s\" or \"8h\"");
      const auto ns = parse_duration_ns(value.get<std::string>());
      if (!ns) return std::unexpected(ns.error());
      if (*ns == 0) return expected("a duration above 0");
      return static_cast<std::uint64_t>(*ns);
    }
    case probes::ParameterType::flag:
      if (!value.is_boolean()) return expected("true or false");
      return value.get<bool>();
  }
  return expected("another type");
}

Result<Plan> parse_plan(const LocatedJson& file) {
  std::optional<Error> error;
  Plan plan;
  ObjectReader r(file, "", error);
  if (!r.failed() && r.text("schema") != "assay/plan/1") {
    r.refuse("schema", "\"schema\": expected assay/plan/1");
  }
  plan.id = r.text("id");
  plan.name = r.text_or("name", plan.id);
  plan.reduced_from = r.text_or("reduced_from", "");
  plan.required_root = r.boolean_or("required_root", false);
  if (r.has("monitors")) r.objects("monitors", [&](ObjectReader& m) { read_monitor(m, plan); });
  std::set<std::string> ids;
  r.objects("steps", [&](ObjectReader& s) { read_step(s, plan, ids); });
  if (!r.failed() && plan.steps.empty()) r.refuse("steps", "\"steps\": expected at least one step");
  r.finish();
  if (error) return std::unexpected(*error);
  return plan;
}

}  // namespace assay::station
