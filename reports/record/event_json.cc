#include <array>
#include <cmath>

#include "base/clock.h"
#include "base/utf8.h"
#include "reports/record/event.h"

namespace assay::reports {
namespace {

using nlohmann::json;

template <class Enum, std::size_t n>
using Names = std::array<std::pair<Enum, const char*>, n>;

constexpr Names<Status, 3> statuses{
    {{Status::complete, "COMPLETE"}, {Status::error, "ERROR"}, {Status::skip, "SKIP"}}};
constexpr Names<RunResult, 3> results{{{RunResult::not_applicable, "NOT_APPLICABLE"},
                                       {RunResult::pass, "PASS"},
                                       {RunResult::fail, "FAIL"}}};
constexpr Names<DiagnosisType, 3> diagnosis_types{{{DiagnosisType::pass, "PASS"},
                                                   {DiagnosisType::fail, "FAIL"},
                                                   {DiagnosisType::unknown, "UNKNOWN"}}};
constexpr Names<Severity, 5> severities{{{Severity::debug, "DEBUG"},
                                         {Severity::info, "INFO"},
                                         {Severity::warning, "WARNING"},
                                         {Severity::error, "ERROR"},
                                         {Severity::fatal, "FATAL"}}};
constexpr Names<Comparison, 6> comparisons{
    {{Comparison::equal, "EQUAL"},
     {Comparison::not_equal, "NOT_EQUAL"},
     {Comparison::less, "LESS_THAN"},
     {Comparison::less_or_equal, "LESS_THAN_OR_EQUAL"},
     {Comparison::greater, "GREATER_THAN"},
     {Comparison::greater_or_equal, "GREATER_THAN_OR_EQUAL"}}};

// OCP's word for the order of versions lives in the validator's metadata: the format has none.
constexpr const char* semantic_version_order = "semantic-version";

template <class Enum, std::size_t n>
const char* name_of(Enum value, const Names<Enum, n>& names) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  return "";
}

template <class Enum, std::size_t n>
Result<Enum> named(const json& object, const char* key, const Names<Enum, n>& names) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_string()) {
    for (const auto& [value, name] : names) {
      if (*found == name) return value;
    }
  }
  return fail(ErrorKind::protocol, std::string("no known \"") + key + "\"");
}

json to_json(const Value& value) {
  return std::visit(
      [](const auto& v) -> json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) {
          return to_valid_utf8(v);
        } else {
          return v;
        }
      },
      value);
}

Result<Value> to_value(const json& j) {
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_unsigned() && j.get<std::uint64_t>() > INT64_MAX) return j.get<double>();
  if (j.is_number_integer()) return j.get<std::int64_t>();
  if (j.is_number_float()) return j.get<double>();
  if (j.is_string()) return j.get<std::string>();
  return fail(ErrorKind::protocol, "a value that is no number, text or boolean");
}

json to_json(const std::vector<Validator>& validators) {
  json list = json::array();
  for (const Validator& v : validators) {
    json one{{"name", v.name},
             {"type", name_of(v.comparison, comparisons)},
             {"value", to_json(v.value)}};
    if (v.semantic_version) one["metadata"] = {{"order", semantic_version_order}};
    list.push_back(std::move(one));
  }
  return list;
}

void add_text(json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = to_valid_utf8(text);
}

struct ToArtifact {
  json operator()(const SchemaVersion& v) const {
    return {{"schemaVersion", {{"major", v.major}, {"minor", v.minor}}}};
  }
  json operator()(const RunStart& v) const {
    return {{"testRunStart",
             {{"name", to_valid_utf8(v.name)},
              {"version", v.version},
              {"commandLine", to_valid_utf8(v.command_line)},
              {"parameters", v.parameters},
              {"dutInfo", v.dut_info}}}};
  }
  json operator()(const RunEnd& v) const {
    return {{"testRunEnd",
             {{"status", name_of(v.status, statuses)}, {"result", name_of(v.result, results)}}}};
  }
  json operator()(const StepStart& v) const { return {{"testStepStart", {{"name", v.name}}}}; }
  json operator()(const StepEnd& v) const {
    return {{"testStepEnd", {{"status", name_of(v.status, statuses)}}}};
  }
  json operator()(const Measurement& v) const {
    json m{{"name", v.name}, {"value", to_json(v.value)}};
    add_text(m, "unit", v.unit);
    if (!v.validators.empty()) m["validators"] = to_json(v.validators);
    if (!v.part.empty()) m["subcomponent"] = {{"name", to_valid_utf8(v.part)}};
    return {{"measurement", std::move(m)}};
  }
  json operator()(const SeriesStart& v) const {
    json s{{"name", v.name}, {"measurementSeriesId", v.series_id}};
    add_text(s, "unit", v.unit);
    if (!v.validators.empty()) s["validators"] = to_json(v.validators);
    return {{"measurementSeriesStart", std::move(s)}};
  }
  json operator()(const SeriesElement& v) const {
    return {{"measurementSeriesElement",
             {{"index", v.index},
              {"value", to_json(v.value)},
              {"timestamp", timestamp(v.wall_ns)},
              {"measurementSeriesId", v.series_id}}}};
  }
  json operator()(const SeriesEnd& v) const {
    return {{"measurementSeriesEnd",
             {{"measurementSeriesId", v.series_id}, {"totalCount", v.total_count}}}};
  }
  json operator()(const Diagnosis& v) const {
    json d{{"verdict", v.verdict}, {"type", name_of(v.type, diagnosis_types)}};
    add_text(d, "message", v.message);
    return {{"diagnosis", std::move(d)}};
  }
  json operator()(const TestError& v) const {
    json e{{"symptom", v.symptom}};
    add_text(e, "message", v.message);
    return {{"error", std::move(e)}};
  }
  json operator()(const Log& v) const {
    return {
        {"log",
         {{"severity", name_of(v.severity, severities)}, {"message", to_valid_utf8(v.message)}}}};
  }
  json operator()(const File& v) const {
    json f{{"displayName", to_valid_utf8(v.display_name)},
           {"uri", to_valid_utf8(v.uri)},
           {"isSnapshot", v.is_snapshot}};
    add_text(f, "description", v.description);
    return {{"file", std::move(f)}};
  }
  json operator()(const Extension& v) const {
    return {{"extension", {{"name", v.name}, {"content", v.content}}}};
  }
};

// Reads the fields of one artifact; the first thing missing or of a wrong type makes it bad.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {
    if (!object.is_object()) bad("an artifact that is no object");
  }
  std::string text(const char* key, bool required = true) {
    const json* j = find(key, required);
    if (j == nullptr) return {};
    if (!j->is_string()) {
      bad(std::string("\"") + key + "\" is no text");
      return {};
    }
    return j->get<std::string>();
  }
  std::uint64_t count(const char* key) {
    const json* j = find(key, true);
    if (j != nullptr && !j->is_number_unsigned()) bad(std::string("\"") + key + "\" is no count");
    return j != nullptr && j->is_number_unsigned() ? j->get<std::uint64_t>() : 0;
  }
  bool boolean(const char* key) {
    const json* j = find(key, true);
    if (j != nullptr && !j->is_boolean()) bad(std::string("\"") + key + "\" is no boolean");
    return j != nullptr && j->is_boolean() && j->get<bool>();
  }
  json object(const char* key) {
    const json* j = find(key, true);
    if (j != nullptr && !j->is_object()) bad(std::string("\"") + key + "\" is no object");
    return j != nullptr && j->is_object() ? *j : json::object();
  }
  Value value(const char* key) {
    const json* j = find(key, true);
    if (j == nullptr) return {};
    return take(to_value(*j));
  }
  std::int64_t time(const char* key) {
    const std::int64_t ns = parse_timestamp(text(key));
    if (ns < 0) bad(std::string("\"") + key + "\" is no time stamp");
    return ns;
  }
  template <class Enum, std::size_t n>
  Enum word(const char* key, const Names<Enum, n>& names) {
    return take(named(object_, key, names));
  }
  std::string name_of_part() {
    const json* j = find("subcomponent", false);
    if (j == nullptr) return {};
    Fields fields(*j);
    std::string name = fields.text("name");
    if (!fields.error_.empty()) bad("subcomponent: " + fields.error_);
    return name;
  }
  std::vector<Validator> validators() {
    std::vector<Validator> list;
    const json* j = find("validators", false);
    if (j == nullptr) return list;
    if (!j->is_array()) {
      bad("\"validators\" is no list");
      return list;
    }
    for (const json& one : *j) {
      Fields fields(one);
      Validator v;
      v.name = fields.text("name", false);
      v.comparison = fields.word("type", comparisons);
      v.value = fields.value("value");
      if (const auto meta = one.find("metadata"); fields.error_.empty() && meta != one.end()) {
        v.semantic_version =
            meta->is_object() && meta->value("order", json()) == semantic_version_order;
      }
      if (!fields.error_.empty()) bad(fields.error_);
      list.push_back(std::move(v));
    }
    return list;
  }
  const std::string& error() const { return error_; }

 private:
  const json* find(const char* key, bool required) {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    if (required) bad(std::string("\"") + key + "\" is missing");
    return nullptr;
  }
  template <class T>
  T take(Result<T> result) {
    if (result) return std::move(*result);
    bad(result.error().what);
    return {};
  }
  void bad(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }

  const json& object_;
  std::string error_;
};

// The JSON library recurses when it copies and writes; our own events nest a dozen levels.
constexpr int max_depth = 64;

bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > max_depth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

Result<Payload> parse_run_artifact(const std::string& kind, Fields& f) {
  if (kind == "testRunStart") {
    return RunStart{f.text("name"), f.text("version"), f.text("commandLine"),
                    f.object("parameters"), f.object("dutInfo")};
  }
  if (kind == "testRunEnd") return RunEnd{f.word("status", statuses), f.word("result", results)};
  if (kind == "log") return Log{f.word("severity", severities), f.text("message")};
  if (kind == "error") return TestError{f.text("symptom"), f.text("message", false)};
  return fail(ErrorKind::protocol, "unknown artifact \"" + kind.substr(0, 40) + "\"");
}

Result<Payload> parse_step_artifact(const std::string& kind, Fields& f) {
  if (kind == "testStepStart") return StepStart{f.text("name")};
  if (kind == "testStepEnd") return StepEnd{f.word("status", statuses)};
  if (kind == "measurement") {
    return Measurement{f.text("name"), f.value("value"), f.text("unit", false), f.validators(),
                       f.name_of_part()};
  }
  if (kind == "measurementSeriesStart") {
    return SeriesStart{f.text("name"), f.text("unit", false), f.text("measurementSeriesId"),
                       f.validators()};
  }
  if (kind == "measurementSeriesElement") {
    return SeriesElement{f.text("measurementSeriesId"), f.count("index"), f.value("value"),
                         f.time("timestamp")};
  }
  if (kind == "measurementSeriesEnd") {
    return SeriesEnd{f.text("measurementSeriesId"), f.count("totalCount")};
  }
  if (kind == "diagnosis") {
    return Diagnosis{f.text("verdict"), f.word("type", diagnosis_types), f.text("message", false)};
  }
  if (kind == "file") {
    return File{f.text("displayName"), f.text("uri"), f.text("description", false),
                f.boolean("isSnapshot")};
  }
  if (kind == "extension") return Extension{f.text("name"), f.object("content")};
  return parse_run_artifact(kind, f);
}

}  // namespace

std::string to_line(const Event& event) {
  json artifact = std::visit(ToArtifact{}, event.payload);
  json line;
  if (std::holds_alternative<SchemaVersion>(event.payload)) {
    line = std::move(artifact);
  } else if (event.step_id) {
    artifact["testStepId"] = *event.step_id;
    line["testStepArtifact"] = std::move(artifact);
  } else {
    line["testRunArtifact"] = std::move(artifact);
  }
  line["sequenceNumber"] = event.sequence;
  line["timestamp"] = timestamp(event.wall_ns);
  // JSON given by callers (parameters, extensions) may hold other bytes: replaced, never thrown.
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Event> parse_line(std::string_view text) {
  const auto bad = [](const std::string& why) { return fail(ErrorKind::protocol, why); };
  if (text.size() > max_line_bytes) return bad("a line of over 1 MiB");
  if (is_too_deep(text)) return bad("nested deeper than 64");
  const json line = json::parse(text, nullptr, false);
  if (!line.is_object()) return bad("no JSON object");
  Event event;
  Fields envelope(line);
  event.sequence = envelope.count("sequenceNumber");
  event.wall_ns = envelope.time("timestamp");
  if (!envelope.error().empty()) return bad(envelope.error());

  if (const auto version = line.find("schemaVersion"); version != line.end()) {
    Fields f(*version);
    const auto major = f.count("major");
    const auto minor = f.count("minor");
    if (!f.error().empty() || major != 2 || minor != 0) return bad("not OCP schema 2.0");
    event.payload = SchemaVersion{};
    return event;
  }
  const auto run = line.find("testRunArtifact");
  const auto step = line.find("testStepArtifact");
  const bool in_step = step != line.end();
  if (!in_step && run == line.end()) return bad("neither a run's nor a step's artifact");
  const json& artifact = in_step ? *step : *run;
  if (!artifact.is_object()) return bad("an artifact that is no object");
  if (in_step) {
    Fields f(artifact);
    event.step_id = f.text("testStepId");
    if (!f.error().empty()) return bad(f.error());
  }
  for (const auto& [kind, content] : artifact.items()) {
    if (kind == "testStepId") continue;
    Fields f(content);
    auto payload = in_step ? parse_step_artifact(kind, f) : parse_run_artifact(kind, f);
    if (!payload) return std::unexpected(payload.error());
    if (!f.error().empty()) return bad(kind + ": " + f.error());
    event.payload = std::move(*payload);
    return event;
  }
  return bad("an empty artifact");
}

}  // namespace assay::reports
