// What the tests find, against what the papers say they find (docs/memory-coverage.md has both).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/probes/memory/simulated_run.h"
#include "tests/support/program.h"

namespace assay::test {
namespace {

using probes::Flush;

constexpr std::size_t cells = 4;

const std::vector<FaultClass>& classes() {
  static const auto all = fault_classes(cells);
  return all;
}

double percent(const std::string& test, const std::string& faults, Flush flush = Flush::none) {
  return coverage(*probes::make_algorithm(test, {.backgrounds = 1}), fault_class(classes(), faults),
                  cells, flush);
}

// "SAF TF" as words.
std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

struct Published {
  const char* test;
  const char* all;   // covered: every instance
  const char* some;  // not covered, though some are found
  const char* none;
};

// Van de Goor 1991 and 1993, van de Goor et al. 1996, Hamdioui et al. 2002.
constexpr Published published[] = {
    {"mats+", "SAF AF RDF IRF", "TF CFin CFid CFst SOF", "DRDF WDF DRF"},
    {"march-x", "SAF AF TF CFin RDF IRF", "CFid CFst SOF", "DRDF WDF DRF"},
    {"march-y", "SAF AF TF CFin SOF RDF IRF", "CFid CFst", "WDF DRF"},
    {"march-c-", "SAF AF TF CFin CFid CFst RDF IRF", "SOF CFds", "DRDF WDF DRF CFdrd CFwd"},
    {"march-a", "SAF AF TF CFin CFid RDF IRF", "SOF", "DRDF WDF DRF"},
    {"march-b", "SAF AF TF CFin CFid SOF RDF IRF", "", "DRDF WDF DRF"},
    {"march-lr", "SAF AF TF CFin CFid CFst SOF RDF IRF", "CFds", "DRDF WDF DRF"},
    {"march-ss", "SAF AF TF CFin CFid CFst RDF DRDF IRF WDF CFds CFtr CFwd CFrd CFdrd CFir", "SOF",
     "DRF"},
    {"moving-inversions", "SAF AF TF CFin CFid CFst RDF IRF", "SOF", "DRDF WDF DRF"},
    {"0xAAAAAAAA", "", "SAF CFst", "TF CFin CFid DRDF WDF DRF"},
    {"0xAAAAAAAA~", "SAF", "TF CFin CFid CFst AF", "DRDF WDF DRF"},
    {"bit-fade", "SAF DRF", "TF", "DRDF WDF CFin CFid"},
};

class Coverage : public testing::TestWithParam<Published> {};

TEST_P(Coverage, isThePublishedOne) {
  const Published& p = GetParam();
  for (const auto& name : words(p.all)) EXPECT_EQ(percent(p.test, name), 100) << name;
  for (const auto& name : words(p.some)) {
    EXPECT_GT(percent(p.test, name), 0) << name;
    EXPECT_LT(percent(p.test, name), 100) << name;
  }
  for (const auto& name : words(p.none)) EXPECT_EQ(percent(p.test, name), 0) << name;
}

INSTANTIATE_TEST_SUITE_P(Marches, Coverage, testing::ValuesIn(published), [](const auto& one) {
  std::string name = one.param.test;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = c == '+' ? 'p' : c == '~' ? 'c' : '_';
  }
  return name;
});

TEST(CoverageTable, aFixedPatternFindsHalfOfTheStuckBits) {
  EXPECT_EQ(percent("0xAAAAAAAA", "SAF"), 50);
}

// What the default flush may change is coupling inside a batch; faults of one cell are found alike.
TEST(CoverageTable, flushesByBatchesFindTheSameSingleCellFaults) {
  for (const char* test : {"march-y", "march-b", "march-ss"}) {
    for (const char* faults : {"SAF", "TF", "RDF", "DRDF", "IRF", "WDF"}) {
      EXPECT_EQ(percent(test, faults, Flush::batch), percent(test, faults)) << test << faults;
    }
  }
}

TEST(CoverageTable, aFlushForEachLineKeepsTheStrictOrder) {
  for (const char* test : {"march-lr", "march-ss"}) {
    for (const FaultClass& c : classes()) {
      EXPECT_EQ(percent(test, c.name, Flush::line), percent(test, c.name)) << test << c.name;
    }
  }
}

// CFid between the bits of a byte that is written as a whole: with each write the aggressor's
// transition forces the victim, after its own new value.
double intra_word_coverage(const std::vector<std::uint8_t>& backgrounds) {
  const auto elements = probes::parse_march("⇕(w0);⇑(r0,w1);⇑(r1,w0);⇓(r0,w1);⇓(r1,w0);⇕(r0)");
  int found = 0;
  int all = 0;
  for (unsigned aggressor = 0; aggressor < 8; ++aggressor) {
    for (unsigned victim = 0; victim < 8; ++victim) {
      for (const bool up : {false, true}) {
        for (const unsigned to : {0U, 1U}) {
          if (aggressor == victim) continue;
          ++all;
          bool always = true;
          for (unsigned initial = 0; initial < 256; ++initial) {
            unsigned word = initial;
            bool seen = false;
            for (const std::uint8_t background : backgrounds) {
              for (const auto& element : *elements) {
                for (const auto& op : element.operations) {
                  const unsigned value = (op.data == 0 ? background : ~background) & 0xFFU;
                  if (!op.write) {
                    seen = seen || word != value;
                    continue;
                  }
                  const bool was = ((word >> aggressor) & 1) != 0;
                  const bool is = ((value >> aggressor) & 1) != 0;
                  word = value;
                  if (was != is && is == up) word = (word & ~(1U << victim)) | (to << victim);
                }
              }
            }
            always = always && seen;
          }
          found += always ? 1 : 0;
        }
      }
    }
  }
  return 100.0 * found / all;
}

TEST(CoverageTable, couplingInsideAWordNeedsItsBackgrounds) {
  EXPECT_EQ(intra_word_coverage({0x00}), 50);
  EXPECT_EQ(intra_word_coverage({0x00, 0x55, 0x33, 0x0F}), 100);
}

TEST(CoverageTable, isTheOneInTheDocumentation) {
  const std::string program =
      std::filesystem::path(assay_argv({})[0]).parent_path() / "memory_coverage_table";
  const Finished table = Program({program}).wait();
  ASSERT_EQ(table.exit_code, 0);
  EXPECT_EQ(table.out, read_file(ASSAY_SOURCE "/docs/memory-coverage.md"))
      << "make it anew:  build/release/bin/memory_coverage_table > docs/memory-coverage.md";
}

}  // namespace
}  // namespace assay::test
