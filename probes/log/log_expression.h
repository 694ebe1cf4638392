// The expressions of log_patterns.h, compiled once.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/log/literal_set.h"
#include "probes/log/log_patterns.h"
#include "probes/log/log_template.h"

namespace assay::probes {

class LogExpression {
 public:
  // Groups that an expression may have; more is an error of the table, which its test finds.
  static constexpr int most_groups = 9;

  explicit LogExpression(std::string_view expression);

  // Group 0 is the match itself. The views are parts of `message`.
  class Match {
   public:
    // Empty when the group has no match or is not there.
    std::string_view group(int number) const {
      const re2::StringPiece& piece = groups_[number];
      return {piece.data() == nullptr ? "" : piece.data(), piece.size()};
    }
    bool has(int number) const { return number > 0 && groups_[number].data() != nullptr; }

   private:
    friend class LogExpression;
    re2::StringPiece groups_[most_groups + 1];
  };
  bool match(std::string_view message, Match& match) const;

  // 0 when there is no group of that name.
  int number_of(std::string_view name) const;
  // All named groups that matched, printable and of bounded length.
  LogFields fields_of(const Match& match) const;
  bool ok() const { return expression_->ok(); }

 private:
  std::unique_ptr<re2::RE2> expression_;  // RE2 cannot be moved
  std::vector<std::string> names_;        // by number - 1; empty: the group has none
};

// Text from a log that goes into a message: printable, at most 120 bytes of it.
std::string log_word(std::string_view text);

struct CompiledPattern {
  const LogPattern* pattern;
  LogExpression expression;
  int count_group;
  int rank_group;    // size, pages or order
  int sample_group;  // pfn
};
struct CompiledFact {
  const LogFactPattern* pattern;
  LogExpression expression;
};

// Immutable, so safe from any thread.
struct CompiledPatterns {
  CompiledPatterns();

  std::vector<CompiledPattern> patterns;
  std::vector<CompiledFact> facts;
  LiteralSet literals;  // of the patterns, then of the facts
};
const CompiledPatterns& compiled_patterns();

}  // namespace assay::probes
