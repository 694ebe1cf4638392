// The table of messages itself.
#include "probes/log/log_patterns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "probes/log/log_expression.h"

namespace assay::probes {
namespace {

// The names in {braces}, without their forms.
std::vector<std::string> fields_in(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
    const std::string_view field = text.substr(at + 1, text.find('}', at) - at - 1);
    names.emplace_back(field.substr(0, field.find('|')));
  }
  return names;
}

TEST(LogPatterns, everyEntryIsWhole) {
  ASSERT_FALSE(log_patterns().empty());
  for (const LogPattern& pattern : log_patterns()) {
    SCOPED_TRACE(std::string(pattern.expression));
    EXPECT_NE(reports::find_catalog_entry(pattern.code), nullptr) << pattern.code;
    const LogExpression expression(pattern.expression);
    ASSERT_TRUE(expression.ok());
    EXPECT_FALSE(pattern.message.empty());
    for (const std::string_view text : {pattern.where, pattern.message}) {
      for (const std::string& name : fields_in(text)) {
        const int number = expression.number_of(name);
        EXPECT_GT(number, 0) << name;
        EXPECT_LE(number, LogExpression::most_groups) << name;
      }
    }
  }
  for (const LogFactPattern& fact : log_fact_patterns()) {
    EXPECT_TRUE(LogExpression(fact.expression).ok()) << fact.expression;
  }
}

// A short literal makes every step of the filter short.
TEST(LogPatterns, literalsAreLongEnoughToSkip) {
  EXPECT_GE(compiled_patterns().literals.shortest(), 7U);
}

TEST(LogPatterns, bytesThatAreNoTextMatchToo) {
  const LogExpression expression("task (?P<name>.+):");
  LogExpression::Match match;
  ASSERT_TRUE(expression.match("task a\xFF\x80\x1B[2J:", match));
  EXPECT_EQ(match.group(1), "a\xFF\x80\x1B[2J");
  EXPECT_EQ(expression.fields_of(match).at("name"), "a\xEF\xBF\xBD\xEF\xBF\xBD\\x1B[2J");
}

}  // namespace
}  // namespace assay::probes
