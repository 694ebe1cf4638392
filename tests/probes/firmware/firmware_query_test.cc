#include "probes/firmware/firmware_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probes/bench_fixture.h"

namespace assay::probes {
namespace {

using reports::StepState;

TEST(FirmwareQuery, skipsABoardWithoutUart) {
  test::BenchFixture bench;
  const auto outcome = bench.run(firmware_query_probe());
  EXPECT_TRUE(outcome.result);
  EXPECT_EQ(outcome.step.state, StepState::skip);
  EXPECT_THAT(outcome.step.skip_reason, testing::HasSubstr("UART"));
}

TEST(FirmwareQuery, withoutAPortIsNotTestedAndNoFault) {
  test::BenchFixture bench;
  // An id that no vendor has.
  bench.board.uart = UartProfile{.usb_ids = {"0000:0000"}, .baud = {115200}, .query = "AT+NPUCFG?"};
  const auto outcome = bench.run(firmware_query_probe());
  ASSERT_FALSE(outcome.result);
  EXPECT_EQ(outcome.result.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(outcome.result.error().hint, testing::HasSubstr("--port"));
  EXPECT_EQ(outcome.step.state, StepState::error);
  EXPECT_TRUE(outcome.step.findings.empty());
}

TEST(FirmwareQuery, aPortThatIsNotThereIsNotTestedEither) {
  test::BenchFixture bench;
  bench.board.uart = UartProfile{.usb_ids = {"0000:0000"}, .baud = {115200}, .query = "AT+NPUCFG?"};
  bench.uart_port = bench.root() / "dev/ttyUSB7";
  const auto outcome = bench.run(firmware_query_probe());
  ASSERT_FALSE(outcome.result);
  EXPECT_THAT(outcome.result.error().where, testing::HasSubstr("ttyUSB7"));
  EXPECT_EQ(outcome.step.state, StepState::error);
  EXPECT_TRUE(outcome.step.findings.empty());
}

}  // namespace
}  // namespace assay::probes
