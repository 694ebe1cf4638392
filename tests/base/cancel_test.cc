#include "base/cancel.h"

#include <gtest/gtest.h>

#include <thread>

namespace assay {
namespace {

TEST(CancelToken, isNotCancelledUntilAsked) {
  CancelToken token;
  EXPECT_FALSE(token.cancelled());
  EXPECT_FALSE(token.timed_out());
  token.cancel();
  EXPECT_TRUE(token.cancelled());
  EXPECT_FALSE(token.timed_out());
}

TEST(CancelToken, aStepStopsWithItsRunAndNotTheOtherWay) {
  CancelToken session;
  CancelToken run(&session);
  CancelToken step(&run);
  CancelToken other(&run);
  step.cancel();
  EXPECT_TRUE(step.cancelled());
  EXPECT_FALSE(run.cancelled());
  EXPECT_FALSE(other.cancelled());
  session.cancel();
  EXPECT_TRUE(run.cancelled());
  EXPECT_TRUE(other.cancelled());
}

TEST(CancelToken, aDeadlineCountsFromItsInstantOn) {
  CancelToken token;
  token.set_deadline(monotonic_ns() + 3600 * ns_per_s);
  EXPECT_FALSE(token.cancelled());
  token.set_deadline(monotonic_ns());
  EXPECT_TRUE(token.timed_out());
  EXPECT_TRUE(token.cancelled());
  token.set_deadline(0);
  EXPECT_FALSE(token.cancelled());
}

TEST(CancelToken, aRunsDeadlineStopsItsStep) {
  CancelToken run;
  const CancelToken step(&run);
  run.set_deadline(1);
  EXPECT_TRUE(step.cancelled());
  // It is the run that ran out of time.
  EXPECT_FALSE(step.timed_out());
}

TEST(CancelToken, isSeenFromAnotherThread) {
  CancelToken token;
  std::jthread looking([&] {
    while (!token.cancelled()) std::this_thread::yield();
  });
  token.cancel();
  looking.join();
}

}  // namespace
}  // namespace assay
