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

double percent(const std::string& test, const std::string& faults,
               Between between = Between::nothing, Flush policy = Flush::none) {
  return coverage(*probes::make_algorithm(test, {.backgrounds = 1}), fault_class(classes(), faults),
                  cells, between, policy);
}

// "SAF TF" as words.
std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

struct Expected {
  const char* test;
  const char* all;   // covered: every instance
  const char* some;  // not covered, though some are found
  const char* none;
};

// Van de Goor 1991 and 1993, van de Goor et al. 1996, Hamdioui et al. 2002.
constexpr Expected published[] = {
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
    {"checkerboard", "SAF RDF IRF", "TF AF CFin CFid CFst", "DRDF WDF DRF CFwd CFdrd"},
};

// No paper says it of these; it follows from their elements, read as those of a March.
constexpr Expected patterns[] = {
    {"0xAAAAAAAA", "", "SAF CFst", "TF CFin CFid DRDF WDF DRF"},
    {"0xAAAAAAAA~", "SAF", "TF CFin CFid CFst AF", "DRDF WDF DRF"},
    {"bit-fade", "SAF DRF", "TF", "DRDF WDF CFin CFid"},
    // A word's own address is for the decoder, which all of its bits share.
    {"address", "SAF RDF IRF AF64", "TF AF CFin CFid CFst", "DRDF WDF DRF CFwd CFdrd"},
    {"random", "SAF RDF IRF AF64", "TF AF CFin CFid CFst", "DRDF WDF DRF CFwd CFdrd"},
    // Walking along a word, not along the array: a bit goes both ways only where it is not the
    // last.
    {"walking-ones", "SAF RDF IRF AF64", "TF CFin CFid CFst", "DRDF DRF CFdrd"},
    {"walking-zeros", "SAF RDF IRF AF64", "TF CFin CFid CFst", "DRDF DRF CFdrd"},
    // Written twice and up only; made for buffers, which are no cells.
    {"modulo-20", "SAF TF RDF IRF WDF", "CFin CFid", "DRDF DRF CFdrd"},
    {"block-move", "", "SAF TF AF AF64 CFin CFid CFst", "DRF"},
};

class Coverage : public testing::TestWithParam<Expected> {};

TEST_P(Coverage, isTheExpectedOne) {
  const Expected& p = GetParam();
  for (const auto& name : words(p.all)) EXPECT_EQ(percent(p.test, name), 100) << name;
  for (const auto& name : words(p.some)) {
    EXPECT_GT(percent(p.test, name), 0) << name;
    EXPECT_LT(percent(p.test, name), 100) << name;
  }
  for (const auto& name : words(p.none)) EXPECT_EQ(percent(p.test, name), 0) << name;
}

std::string name_of(const testing::TestParamInfo<Expected>& one) {
  std::string name = one.param.test;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = c == '+' ? 'p' : c == '~' ? 'c' : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Published, Coverage, testing::ValuesIn(published), name_of);
INSTANTIATE_TEST_SUITE_P(Patterns, Coverage, testing::ValuesIn(patterns), name_of);

TEST(CoverageTable, aFixedPatternFindsHalfOfTheStuckBits) {
  EXPECT_EQ(percent("0xAAAAAAAA", "SAF"), 50);
}

// The last write of a cell streams past the cache: the next cell's operations come behind it.
TEST(CoverageTable, testsWithoutAnythingThatACacheHidesNeedNoFlush) {
  for (const char* test : {"mats+", "march-x", "march-c-", "moving-inversions", "walking-ones",
                           "walking-zeros", "bit-fade"}) {
    for (const FaultClass& c : classes()) {
      EXPECT_EQ(percent(test, c.name, Between::cache, Flush::automatic), percent(test, c.name))
          << test << c.name;
    }
  }
}

// What it holds of neighbours together halves the coupling that is found.
TEST(CoverageTable, behindACacheThatKeepsTheLastWritesMarchTestsLoseCoupling) {
  for (const char* faults : {"CFid", "AF"}) {
    EXPECT_LT(percent("march-c-", faults, Between::cache, Flush::none), 100) << faults;
  }
}

// They promise nothing that hangs on the order between cells, and are faster that way.
TEST(CoverageTable, chainsOfPatternsKeepTheirPromisesBehindACache) {
  for (const Expected& p : patterns) {
    for (const auto& name : words(p.all)) {
      EXPECT_EQ(percent(p.test, name, Between::cache, Flush::automatic), 100) << p.test << name;
    }
  }
}

TEST(CoverageTable, behindACacheWithoutFlushesWhatTheElementsAreThereForIsLost) {
  for (const auto& [test, faults] : {std::pair{"march-ss", "DRDF"},
                                     {"march-ss", "WDF"},
                                     {"march-y", "AF"},
                                     {"march-y", "SOF"},
                                     {"march-b", "SOF"},
                                     {"march-lr", "SOF"}}) {
    EXPECT_LT(percent(test, faults, Between::cache), 100) << test << faults;
  }
}

TEST(CoverageTable, aFlushForEachLineKeepsAllThatThePapersClaim) {
  for (const Expected& p : published) {
    for (const auto& name : words(p.all)) {
      EXPECT_EQ(percent(p.test, name, Between::cache, Flush::line), 100) << p.test << name;
    }
  }
}

// What batches may change is coupling inside them.
TEST(CoverageTable, flushesByBatchesFindTheSameFaultsOfOneCellAndOfTheDecoder) {
  for (const char* test : {"march-y", "march-a", "march-b", "march-lr", "march-ss"}) {
    for (const char* faults : {"SAF", "TF", "AF", "RDF", "DRDF", "IRF", "WDF"}) {
      EXPECT_EQ(percent(test, faults, Between::cache, Flush::batch), percent(test, faults))
          << test << faults;
    }
  }
}

struct Bit {
  std::size_t word = 0;
  unsigned bit = 0;
};

// CFid between bits that are written at once: with each write the aggressor's transition forces the
// victim, after its own new value.
bool finds_coupling(const probes::Algorithm& test, Bit aggressor, Bit victim, bool up, bool to) {
  const auto bit_of = [&](std::size_t data, Bit bit) {
    return ((word_of(test.data[data], bit.word, 0) >> bit.bit) & 1) != 0;
  };
  for (const bool aggressor_held : {false, true}) {
    for (const bool victim_held : {false, true}) {
      bool was = aggressor_held;
      bool is = victim_held;
      bool seen = false;
      for (const auto& element : test.elements) {
        for (const auto& op : element.operations) {
          const bool now = bit_of(op.data, aggressor);
          const bool expected = bit_of(op.data, victim);
          if (op.write) {
            is = was != now && now == up ? to : expected;
            was = now;
          } else {
            seen = seen || is != expected;
          }
        }
      }
      if (!seen) return false;
    }
  }
  return true;
}

// Percent of CFid between any two of the bits.
double coupling_found(const std::vector<Bit>& bits, unsigned backgrounds) {
  const auto test = probes::make_algorithm("march-c-", {.backgrounds = backgrounds});
  int found = 0;
  int all = 0;
  for (std::size_t aggressor = 0; aggressor < bits.size(); ++aggressor) {
    for (std::size_t victim = 0; victim < bits.size(); ++victim) {
      if (aggressor == victim) continue;
      for (const bool up : {false, true}) {
        for (const bool to : {false, true}) {
          ++all;
          found += finds_coupling(*test, bits[aggressor], bits[victim], up, to) ? 1 : 0;
        }
      }
    }
  }
  return 100.0 * found / all;
}

TEST(CoverageTable, couplingInsideAWordNeedsItsBackgrounds) {
  std::vector<Bit> byte;
  std::vector<Bit> word;
  for (unsigned bit = 0; bit < 64; ++bit) word.push_back({0, bit});
  byte.assign(word.begin(), word.begin() + 8);
  EXPECT_EQ(coupling_found(byte, 1), 50);
  EXPECT_EQ(coupling_found(byte, 4), 100);  // 00, 55, 33, 0F
  EXPECT_LT(coupling_found(word, 6), 100);
  EXPECT_EQ(coupling_found(word, 7), 100);
}

// The same bit of the words of a line, which real memory is written by.
TEST(CoverageTable, couplingInsideALineNeedsThreeMore) {
  std::vector<Bit> line;
  for (std::size_t word = 0; word < probes::words_per_line; ++word) line.push_back({word, 5});
  EXPECT_EQ(coupling_found(line, 7), 50);
  EXPECT_LT(coupling_found(line, 9), 100);
  EXPECT_EQ(coupling_found(line, 10), 100);
}

TEST(CoverageTable, isTheOneInTheDocumentation) {
  const std::string program =
      std::filesystem::path(assay_argv({})[0]).parent_path() / "memory_coverage_table";
  const Finished table = Program({program}).wait();
  ASSERT_EQ(table.exit_code, 0);
  std::istringstream made(table.out);
  std::istringstream documented(read_file(ASSAY_SOURCE "/docs/memory-coverage.md"));
  std::string expected;
  for (std::string line; std::getline(documented, line);) {
    std::getline(made, expected);
    ASSERT_EQ(line, expected) << "make it anew:  build/release/bin/memory_coverage_table";
  }
  EXPECT_FALSE(std::getline(made, expected)) << "the table has more lines: " << expected;
}

}  // namespace
}  // namespace assay::test
