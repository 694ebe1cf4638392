#include "tui/layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::tui {
namespace {

std::vector<Rect> rects_of(const Layout& layout) {
  return {layout.header, layout.verdict, layout.plan, layout.step, layout.log, layout.keys};
}

// Every size that a terminal may have, each cell owned by at most one panel.
TEST(Layout, NothingOverlapsOrLeavesTheScreenAtAnySize) {
  for (const Moment moment : {Moment::running, Moment::ended}) {
    for (int rows = 0; rows <= 80; ++rows) {
      for (int cols = 0; cols <= 200; ++cols) {
        std::vector<char> owned(static_cast<std::size_t>(rows * cols));
        for (const Rect& rect : rects_of(lay_out(rows, cols, moment))) {
          if (rect.empty()) continue;
          ASSERT_GE(rect.row, 0);
          ASSERT_GE(rect.col, 0);
          ASSERT_LE(rect.row + rect.rows, rows) << rows << 'x' << cols;
          ASSERT_LE(rect.col + rect.cols, cols) << rows << 'x' << cols;
          for (int row = rect.row; row < rect.row + rect.rows; ++row) {
            for (int col = rect.col; col < rect.col + rect.cols; ++col) {
              char& cell = owned[static_cast<std::size_t>(row * cols + col)];
              ASSERT_EQ(cell, 0) << rows << 'x' << cols << " at " << row << ',' << col;
              cell = 1;
            }
          }
        }
      }
    }
  }
}

TEST(Layout, EveryPanelHasItsPlaceWhenThereIsRoom) {
  for (const auto& [rows, cols] : {std::pair{30, 100}, {40, 120}, {80, 200}}) {
    for (const Moment moment : {Moment::running, Moment::ended}) {
      const Layout layout = lay_out(rows, cols, moment);
      EXPECT_TRUE(layout.framed);
      EXPECT_GE(layout.plan.rows, 8);
      EXPECT_GE(layout.step.rows, 8);
      EXPECT_GE(layout.log.rows, 5);
      EXPECT_EQ(layout.header.rows, 1);
      EXPECT_EQ(layout.keys.rows, 1);
      EXPECT_EQ(layout.verdict.rows, moment == Moment::ended ? 7 : 0);
    }
  }
}

TEST(Layout, TheClassicTerminalKeepsThreeLinesOfLog) {
  const Layout layout = lay_out(24, 80, Moment::running);
  EXPECT_EQ(layout.log.rows, 5);
  EXPECT_GE(layout.plan.rows, 12);
  EXPECT_GT(layout.step.cols, layout.plan.cols);
}

TEST(Layout, OneLineIsForTheVerdict) {
  const Layout layout = lay_out(1, 20, Moment::running);
  EXPECT_EQ(layout.verdict.rows, 1);
  EXPECT_TRUE(layout.header.empty());
}

}  // namespace
}  // namespace assay::tui
