#include "station/run/run_start.h"

#include <unistd.h>

#include "base/utf8.h"

namespace assay::station {
namespace {

using nlohmann::json;

json limits_json(const std::vector<reports::Limit>& limits) {
  json object = json::object();
  for (const reports::Limit& limit : limits) {
    for (const reports::Validator& v : limit.validators)
      object[limit.measurement].push_back(v.name);
  }
  return object;
}

// What a person would want to know of the machine when they read the run a year later.
json device_info(const RunRequest& request) {
  const Machine& machine = request.bench.machine;
  json platform = json::array();
  const auto add = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) platform.push_back({{"info", name + ": " + to_valid_utf8(text)}});
  };
  add("kernel", machine.read_line("/proc/version").value_or(""));
  const std::string meminfo = machine.read("/proc/meminfo").value_or("");
  add("memory", meminfo.substr(0, meminfo.find('\n')));
  const std::string cpuinfo = machine.read("/proc/cpuinfo", 4 << 20).value_or("");
  if (const auto at = cpuinfo.find("model name"); at != std::string::npos) {
    add("cpu", cpuinfo.substr(at, cpuinfo.find('\n', at) - at));
  }
  add("processors used", std::to_string(request.bench.workers.size()));
  return {{"dutInfoId", to_valid_utf8(request.serial)},
          {"name", request.bench.board.name},
          {"platformInfos", std::move(platform)},
          {"hardwareInfos",
           {{{"name", request.bench.board.name},
             {"hardwareInfoId", "board"},
             {"serialNumber", to_valid_utf8(request.serial)}}}}};
}

}  // namespace

reports::RunStart make_run_start(const RunRequest& request) {
  const Plan& plan = request.plan;
  json steps = json::array();
  for (const PlanStep& step : plan.steps) {
    json one{{"id", step.id},
             {"use", step.probe->name},
             {"required", step.required},
             {"limits", limits_json(step.limits)}};
    if (!step.repairs.empty()) {
      one["repairs"] = {{"step", step.repairs}, {"finding", step.repairs_fault}};
    }
    steps.push_back(std::move(one));
  }
  json monitors = json::array();
  for (const PlanMonitor& monitor : plan.monitors) {
    monitors.push_back({{"use", monitor.probe->name},
                        {"hz", monitor.hz},
                        {"stop", monitor.stops_step},
                        {"limits", limits_json(monitor.limits)}});
  }
  json plan_json{{"id", plan.id},
                 {"name", plan.name},
                 {"steps", std::move(steps)},
                 {"monitors", std::move(monitors)}};
  if (!plan.reduced_from.empty()) plan_json["reduced_from"] = plan.reduced_from;

  reports::RunStart start;
  start.name = plan.id + " on " + request.bench.board.name;
  start.version = ASSAY_VERSION;
  start.command_line = request.command_line;
  start.dut_info = device_info(request);
  start.parameters = {
      {"board", {{"id", request.bench.board.id}, {"name", request.bench.board.name}}},
      {"plan", std::move(plan_json)},
      {"operator", request.operator_name},
      {"station", request.station_name}};
  if (request.is_virtual) start.parameters["virtual"] = {{"faults", request.faults}};
  return start;
}

}  // namespace assay::station
