#include "probes/log/log_expression.h"

#include <algorithm>

#include "base/utf8.h"

namespace assay::probes {
namespace {

constexpr std::size_t most_word_bytes = 120;

std::vector<std::string_view> all_literals() {
  std::vector<std::string_view> literals;
  for (const LogPattern& pattern : log_patterns()) literals.push_back(pattern.literal);
  for (const LogFactPattern& fact : log_fact_patterns()) literals.push_back(fact.literal);
  return literals;
}

}  // namespace

LogExpression::LogExpression(std::string_view expression) {
  RE2::Options options;
  // A log is bytes; what is no UTF-8 must match a dot, too.
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  expression_ =
      std::make_unique<RE2>(re2::StringPiece(expression.data(), expression.size()), options);
  if (!expression_->ok()) return;
  names_.resize(static_cast<std::size_t>(expression_->NumberOfCapturingGroups()));
  for (const auto& [name, number] : expression_->NamedCapturingGroups()) {
    names_[static_cast<std::size_t>(number - 1)] = name;
  }
}

bool LogExpression::match(std::string_view message, Match& match) const {
  const int groups = std::min(static_cast<int>(names_.size()), most_groups) + 1;
  return expression_->Match(re2::StringPiece(message.data(), message.size()), 0, message.size(),
                            RE2::UNANCHORED, match.groups_, groups);
}

int LogExpression::number_of(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? 0 : static_cast<int>(found - names_.begin()) + 1;
}

LogFields LogExpression::fields_of(const Match& match) const {
  LogFields fields;
  const int groups = std::min(static_cast<int>(names_.size()), most_groups);
  for (int i = 1; i <= groups; ++i) {
    const std::string& name = names_[static_cast<std::size_t>(i - 1)];
    if (!name.empty() && match.has(i)) fields[name] = log_word(match.group(i));
  }
  return fields;
}

std::string log_word(std::string_view text) {
  return to_printable(text.substr(0, most_word_bytes));
}

CompiledPatterns::CompiledPatterns() : literals(all_literals()) {
  for (const LogPattern& pattern : log_patterns()) {
    LogExpression expression(pattern.expression);
    int rank = 0;
    for (const char* name : {"size", "pages", "order"}) {
      rank = std::max(rank, expression.number_of(name));
    }
    const int count = expression.number_of("n");
    const int sample = expression.number_of("pfn");
    patterns.push_back({&pattern, std::move(expression), count, rank, sample});
  }
  for (const LogFactPattern& fact : log_fact_patterns()) {
    facts.push_back({&fact, LogExpression(fact.expression)});
  }
}

const CompiledPatterns& compiled_patterns() {
  static const CompiledPatterns compiled;
  return compiled;
}

}  // namespace assay::probes
