#include "probes/log/log_diagnosis.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "probes/log/free_memory.h"
#include "probes/log/log_expression.h"
#include "probes/log/log_facts.h"
#include "probes/log/log_line.h"
#include "probes/log/log_topics.h"

namespace assay::probes {
namespace {

constexpr std::size_t most_evidence_bytes = 300;
constexpr std::size_t most_evidence_lines = 10;
constexpr std::size_t most_samples = 8;
constexpr std::size_t most_zones_shown = 4;
// Messages that are known by their text.
constexpr std::size_t most_known = 1024;
constexpr std::size_t most_known_bytes = 256;
// Between a failure and the last line of its list stand a call trace and the state of each node.
constexpr unsigned list_window_lines = 400;
constexpr std::uint64_t default_page_bytes = 4096;

std::string evidence_text(std::uint64_t number, std::string_view line) {
  const bool cut = line.size() > most_evidence_bytes;
  return fmt::format("line {}: {}{}", number, to_printable(line.substr(0, most_evidence_bytes)),
                     cut ? "..." : "");
}

// "pcieport 0000:00:1c.5" of "pcieport 0000:00:1c.5: AER: ...".
std::string_view speaker_of(std::string_view message) {
  return message.substr(0, message.find(": "));
}

}  // namespace

class LogDiagnosis::State {
 public:
  explicit State(std::optional<std::uint64_t> page_bytes) : option_(page_bytes) {}

  void add(std::string_view line) {
    ++line_;
    parsed_.reset();
    const bool known =
        compiled_.literals.each(line, [&](std::size_t literal) { return take(literal, line); });
    if (known) return;
    if (following_ > 0) follow(line);
    if (list_lines_ > 0) read_list(line);
  }

  LogResult result() const;

 private:
  // One finding on its way.
  struct Seen {
    const LogPattern* pattern = nullptr;
    LogFields fields;  // of the event that asked for most, else of the first one
    std::string where;
    std::uint64_t rank = 0;
    std::uint64_t count = 0;
    std::string first;
    LogLine last;  // how its time is to be read; which is in last_time
    std::string last_time;
    std::uint64_t line = 0;
    std::vector<std::string> evidence;
    std::string largest;  // the line of the event that asked for most, when it was not the first
    std::vector<std::string> samples;
    std::shared_ptr<const FreeMemory> list;
    // What the log had listed before, which is nearer than what it lists at its end.
    std::shared_ptr<const FreeMemory> list_before;
    std::string list_before_time;
    // Of the start of the kernel that it belongs to, once another start has followed.
    std::shared_ptr<const LogFacts> facts;
  };

  // What a message said when it came before: a device that fails says the same again and again, and
  // its expressions need not be matched each time.
  struct Known {
    const LogPattern* pattern;
    std::size_t seen;
    std::uint64_t events;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  const LogLine& parsed(std::string_view line) {
    if (!parsed_) parsed_ = parse_log_line(line);
    return *parsed_;
  }

  bool take(std::size_t literal, std::string_view line) {
    if (const auto known = known_.find(parsed(line).message); known != known_.end()) {
      begin_event(*known->second.pattern);
      count(seen_[known->second.seen], known->second.events, *parsed_);
      return true;
    }
    LogExpression::Match match;
    if (literal >= compiled_.patterns.size()) {
      const CompiledFact& fact = compiled_.facts[literal - compiled_.patterns.size()];
      if (!fact.expression.match(parsed(line).message, match)) return false;
      learn(fact.pattern->fact, match);
      return true;
    }
    const CompiledPattern& compiled = compiled_.patterns[literal];
    if (!compiled.expression.match(parsed(line).message, match)) return false;
    record(compiled, match, line);
    return true;
  }

  void learn(LogFact fact, const LogExpression::Match& match);
  // A log may hold several starts of a kernel, each with areas and pages of its own.
  void begin_boot() {
    const auto before = std::make_shared<const LogFacts>(std::move(facts_));
    for (Seen& seen : seen_) {
      if (!seen.facts) seen.facts = before;
    }
    facts_ = {};
    list_lines_ = 0;
    mode_of_kill_.reset();
  }
  // How large a page is by these facts, and who says so.
  std::pair<std::uint64_t, PageSizeFrom> page_size(const LogFacts& facts) const {
    if (facts.page_bytes) return {*facts.page_bytes, PageSizeFrom::log};
    if (option_) return {*option_, PageSizeFrom::option};
    return {default_page_bytes, PageSizeFrom::assumed};
  }
  void record(const CompiledPattern& compiled, const LogExpression::Match& match,
              std::string_view line);
  static void count(Seen& seen, std::uint64_t events, const LogLine& line) {
    if (__builtin_add_overflow(seen.count, events, &seen.count)) seen.count = UINT64_MAX;
    seen.last = {line.clock, {}, line.is_microseconds, {}};
    seen.last_time = line.time;
  }
  void remember_list(Seen& seen) const {
    seen.list_before = facts_.last_list;
    seen.list_before_time = facts_.last_list_time;
  }
  void begin_event(const LogPattern& pattern) {
    following_ = 0;
    if (pattern.topic == LogTopic::page_allocation) begin_list();
  }
  void begin_list() {
    list_ = std::make_shared<FreeMemory>();
    list_of_.reset();
    mode_of_kill_.reset();
    list_lines_ = list_window_lines;
  }
  void read_list(std::string_view line) {
    --list_lines_;
    const std::size_t zones = list_->zones().size();
    if (!list_->add(parsed(line).message)) return;
    if (facts_.last_list != list_) {
      facts_.last_list = list_;
      facts_.last_list_time = time_text(parsed(line));
    }
    if (list_of_ && list_->zones().size() > zones && zones < most_zones_shown) {
      seen_[*list_of_].evidence.push_back(evidence_text(line_, line));
    }
    if (const auto page = list_->page_bytes(); page && is_page_size(*page)) {
      facts_.page_bytes = *page;
    }
  }
  void follow(std::string_view line) {
    if (speaker_of(parsed(line).message) != speaker_) {
      following_ = 0;
      return;
    }
    --following_;
    seen_[followed_].evidence.push_back(evidence_text(line_, line));
  }

  LogFinding finding_of(const Seen& seen) const;

  const CompiledPatterns& compiled_ = compiled_patterns();
  std::optional<std::uint64_t> option_;
  std::uint64_t line_ = 0;
  std::optional<LogLine> parsed_;  // of the line that is looked at
  LogFacts facts_;
  std::vector<Seen> seen_;
  std::unordered_map<std::string, std::size_t> index_;  // by code and place
  std::unordered_map<std::string, Known, TextHash, std::equal_to<>> known_;
  std::uint64_t left_out_ = 0;
  std::uint64_t suppressed_ = 0;
  std::shared_ptr<FreeMemory> list_;
  std::optional<std::size_t> list_of_;  // the finding whose evidence it is
  // Of the request that had a process killed, where the list came with that.
  std::optional<std::string> mode_of_kill_;
  unsigned list_lines_ = 0;  // in which a part of the list may stand
  unsigned following_ = 0;   // lines that may belong to the evidence
  std::size_t followed_ = 0;
  std::string speaker_;
};

void LogDiagnosis::State::learn(LogFact fact, const LogExpression::Match& match) {
  if (take_fact(fact, match, facts_)) return;
  if (fact == LogFact::kernel) {
    begin_boot();
    facts_.kernel = log_word(match.group(1));
  } else if (fact == LogFact::reclaim_context) {
    begin_list();
    mode_of_kill_ = log_word(match.group(1));
  } else if (fact == LogFact::suppressed) {
    const std::uint64_t more = number_in(match.group(1)).value_or(0);
    if (__builtin_add_overflow(suppressed_, more, &suppressed_)) suppressed_ = UINT64_MAX;
  }
}

void LogDiagnosis::State::record(const CompiledPattern& compiled, const LogExpression::Match& match,
                                 std::string_view line) {
  const LogPattern& pattern = *compiled.pattern;
  const LogLine& parsed_line = parsed(line);
  begin_event(pattern);
  LogFields fields = compiled.expression.fields_of(match);
  std::string where = fill_in(pattern.where, fields, default_page_bytes);
  std::string key = std::string(pattern.code) + '\n' + where;
  const auto [known, is_new] = index_.try_emplace(std::move(key), seen_.size());
  const std::uint64_t events =
      compiled.count_group == 0
          ? 1
          : std::max<std::uint64_t>(number_in(match.group(compiled.count_group)).value_or(1), 1);
  const std::uint64_t rank =
      compiled.rank_group == 0 ? 0 : number_in(match.group(compiled.rank_group)).value_or(0);
  if (is_new) {
    if (seen_.size() >= most_findings) {
      index_.erase(known);
      left_out_ += events;
      return;
    }
    Seen seen;
    seen.pattern = &pattern;
    seen.where = std::move(where);
    seen.rank = rank;
    seen.first = time_text(parsed_line);
    seen.line = line_;
    seen.evidence.push_back(evidence_text(line_, line));
    if (pattern.topic == LogTopic::page_allocation) seen.list = list_;
    if (pattern.topic == LogTopic::out_of_memory && mode_of_kill_) {
      seen.list = list_;
      fields["mode"] = *mode_of_kill_;
    }
    if (pattern.topic == LogTopic::page_allocation) list_of_ = seen_.size();
    following_ = pattern.following_lines;
    followed_ = seen_.size();
    if (following_ > 0) speaker_ = speaker_of(parsed_line.message);
    seen.fields = std::move(fields);
    seen_.push_back(std::move(seen));
    remember_list(seen_.back());
  }
  if (pattern.topic == LogTopic::out_of_memory) mode_of_kill_.reset();
  Seen& seen = seen_[known->second];
  count(seen, events, parsed_line);
  if (rank > seen.rank) {
    seen.rank = rank;
    seen.pattern = &pattern;
    seen.fields = std::move(fields);
    seen.largest = evidence_text(line_, line);
    seen.facts.reset();
    remember_list(seen);
  }
  if (compiled.sample_group != 0 && seen.samples.size() < most_samples) {
    std::string sample = log_word(match.group(compiled.sample_group));
    if (std::find(seen.samples.begin(), seen.samples.end(), sample) == seen.samples.end()) {
      seen.samples.push_back(std::move(sample));
    }
  }
  // Each kill is told with the list that came with it.
  if (pattern.topic != LogTopic::out_of_memory && known_.size() < most_known &&
      parsed_line.message.size() <= most_known_bytes) {
    known_.emplace(parsed_line.message, Known{&pattern, known->second, events});
  }
}

LogFinding LogDiagnosis::State::finding_of(const Seen& seen) const {
  const LogPattern& pattern = *seen.pattern;
  LogLine last_line = seen.last;
  last_line.time = seen.last_time;
  const std::string last = time_text(last_line);
  LogFacts facts = seen.facts ? *seen.facts : facts_;
  if (seen.list_before) {
    facts.last_list = seen.list_before;
    facts.last_list_time = seen.list_before_time;
  }
  const auto [page_bytes, from] = page_size(facts);
  std::string message = fill_in(pattern.message, seen.fields, page_bytes) + ".";
  if (message.starts_with("the ")) message[0] = 'T';
  const TopicText topic =
      topic_text(pattern.topic, seen.fields, seen.list.get(), facts, page_bytes);
  if (!topic.sentences.empty()) message += " " + topic.sentences;
  const bool counts_pages =
      pattern.topic == LogTopic::cma || pattern.topic == LogTopic::page_allocation;
  if (counts_pages && from == PageSizeFrom::assumed) {
    message += fmt::format(" The log does not say how large a page is: {} is assumed.",
                           page_text(page_bytes));
  }
  if (!seen.samples.empty()) {
    std::string list;
    for (const std::string& sample : seen.samples) list += (list.empty() ? "" : ", ") + sample;
    message += fmt::format(" Page frames{}: {}.",
                           seen.count > seen.samples.size() ? ", the first ones" : "", list);
  }
  if (seen.count > 1) message += fmt::format(" Seen {} times", seen.count);
  if (seen.count > 1 && !seen.first.empty()) {
    message += fmt::format(", first at {}, last at {}", seen.first, last);
  }
  if (seen.count > 1) message += ".";
  LogFinding told;
  told.finding = reports::complete({.code = std::string(pattern.code),
                                    .kind = pattern.kind,
                                    .message = std::move(message),
                                    .where = seen.where,
                                    .evidence = seen.evidence,
                                    .likely = topic.likely,
                                    .remedy = topic.remedy});
  if (!seen.largest.empty()) told.finding.evidence.push_back(seen.largest);
  told.count = seen.count;
  told.first = seen.first;
  told.last = last;
  told.line = seen.line;
  return told;
}

LogResult LogDiagnosis::State::result() const {
  LogResult result;
  result.kernel = facts_.kernel;
  result.events_left_out = left_out_;
  result.messages_suppressed = suppressed_;
  std::tie(result.page_bytes, result.page_size_from) = page_size(facts_);
  for (const Seen& seen : seen_) {
    if (seen.pattern->repeats.empty()) result.findings.push_back(finding_of(seen));
  }
  const std::size_t own = result.findings.size();
  for (const Seen& seen : seen_) {
    const std::string_view repeats = seen.pattern->repeats;
    if (repeats.empty()) continue;
    const auto end = result.findings.begin() + static_cast<std::ptrdiff_t>(own);
    const auto better = std::find_if(result.findings.begin(), end, [&](const LogFinding& one) {
      return repeats.find(one.finding.code) != repeats.npos;
    });
    if (better == end) {
      result.findings.push_back(finding_of(seen));
    } else if (better->finding.evidence.size() < most_evidence_lines) {
      better->finding.evidence.push_back(seen.evidence.front());
    }
  }
  std::sort(result.findings.begin(), result.findings.end(),
            [](const LogFinding& a, const LogFinding& b) { return a.line < b.line; });
  return result;
}

const char* to_text(PageSizeFrom from) {
  switch (from) {
    case PageSizeFrom::log:
      return "log";
    case PageSizeFrom::option:
      return "option";
    case PageSizeFrom::assumed:
      return "assumed";
  }
  return "";
}

LogDiagnosis::LogDiagnosis(std::optional<std::uint64_t> page_bytes)
    : state_(std::make_unique<State>(page_bytes)) {}
LogDiagnosis::~LogDiagnosis() = default;
LogDiagnosis::LogDiagnosis(LogDiagnosis&&) noexcept = default;
LogDiagnosis& LogDiagnosis::operator=(LogDiagnosis&&) noexcept = default;

void LogDiagnosis::add(std::string_view line) {
  state_->add(line);
}

LogResult LogDiagnosis::result() const {
  return state_->result();
}

}  // namespace assay::probes
