// The client against the reference firmware's process, as the virtual board has it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "firmware/serial/at_client.h"
#include "tests/firmware/pseudo_terminal.h"

namespace assay::firmware {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr AtOptions patient{.timeout_ns = 60 * ns_per_s};

std::unique_ptr<Transport> open(const FirmwareProcess& firmware) {
  auto transport = open_transport(firmware.path(), 115200);
  EXPECT_TRUE(transport) << transport.error().text();
  return std::move(*transport);
}

TEST(FirmwareOnAPort, tellsVersionAndSerial) {
  FirmwareProcess firmware({"--version", "2.3.1", "--serial", "M6-2026-004417"});
  const auto port = open(firmware);
  AtClient client(*port);
  const auto version = client.query_version("AT+NPUCFG?", patient);
  ASSERT_TRUE(version) << version.error().text();
  EXPECT_EQ(version->text, "2.3.1");
  EXPECT_THAT(client.command("AT+SN?", patient)->lines, ElementsAre("SN:M6-2026-004417"));
  EXPECT_TRUE(client.command("ATE0", patient)->ok);
  EXPECT_THAT(client.command("AT", patient)->lines, IsEmpty());
  EXPECT_FALSE(client.command("AT+NOSUCH", patient)->ok);
  EXPECT_EQ(client.query_version("ATNPUCFG?", patient)->text, "2.3.1");
}

TEST(FirmwareOnAPort, isAskedAgainByTheNextProgram) {
  FirmwareProcess firmware({});
  for (int i = 0; i < 3; ++i) {
    const auto port = open(firmware);
    EXPECT_TRUE(AtClient(*port).query_version("AT+NPUCFG?", patient));
  }
}

TEST(FirmwareOnAPort, tellsAnOldCandidateFromTheRelease) {
  FirmwareProcess firmware({"--version", "2.1.4-rc3"});
  const auto port = open(firmware);
  const auto version = AtClient(*port).query_version("AT+NPUCFG?", patient);
  ASSERT_TRUE(version) << version.error().text();
  EXPECT_EQ(version->text, "2.1.4-rc3");
  EXPECT_LT(version->version, *parse_semantic_version("2.1.4"));
}

TEST(FirmwareOnAPort, silentIsATimeout) {
  FirmwareProcess firmware({"--line-fault", "silent"});
  const auto port = open(firmware);
  const auto version =
      AtClient(*port).query_version("AT+NPUCFG?", {.timeout_ns = 50 * ns_per_ms, .tries = 2});
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().kind, ErrorKind::timeout);
  EXPECT_EQ(version.error().what, "no answer to AT+NPUCFG? in 2 tries (0 bytes received)");
}

TEST(FirmwareOnAPort, garbageIsNotUnderstood) {
  FirmwareProcess firmware({"--line-fault", "garbage"});
  ASSERT_TRUE(firmware.wait_for_output());
  const auto port = open(firmware);
  const auto version =
      AtClient(*port).query_version("AT+NPUCFG?", {.timeout_ns = 500 * ns_per_ms, .tries = 2});
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().kind, ErrorKind::protocol);
  EXPECT_THAT(version.error().what, HasSubstr("answer not understood: "));
}

TEST(FirmwareOnAPort, cancelEndsAWait) {
  FirmwareProcess firmware({"--line-fault", "silent"});
  const auto port = open(firmware);
  CancelToken cancel;
  cancel.set_deadline(monotonic_ns() + 100 * ns_per_ms);
  const auto reply =
      AtClient(*port).command("AT", {.timeout_ns = 3600 * ns_per_s, .cancel = &cancel});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::cancelled);
}

// Passes the command on to a firmware that is stopped, and kills it before it can answer.
class PowerCut final : public Transport {
 public:
  PowerCut(Transport* port, FirmwareProcess* firmware) : port_(port), firmware_(firmware) {}

  Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t deadline) override {
    return port_->read(buffer, deadline);
  }
  Result<> write(std::span<const std::uint8_t> bytes, std::int64_t deadline) override {
    if (bytes.size() == 1) return port_->write(bytes, deadline);
    firmware_->stop();
    const auto written = port_->write(bytes, deadline);
    firmware_->kill();
    return written;
  }
  Result<> discard_input() override { return port_->discard_input(); }
  Result<> set_baud(int baud) override { return port_->set_baud(baud); }
  const std::string& name() const override { return port_->name(); }

 private:
  Transport* port_;
  FirmwareProcess* firmware_;
};

TEST(FirmwareOnAPort, killedInTheMiddleHasVanished) {
  FirmwareProcess firmware({});
  ASSERT_TRUE(firmware.wait_for_output());
  const auto port = open(firmware);
  PowerCut cut(port.get(), &firmware);
  const auto version = AtClient(cut).query_version("AT+NPUCFG?", patient);
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().kind, ErrorKind::vanished);
  EXPECT_EQ(version.error().where, firmware.path());
  EXPECT_EQ(AtClient(*port).command("AT", patient).error().kind, ErrorKind::vanished);
}

TEST(FirmwareProcess, endsWithItsInput) {
  const Outcome run = run_firmware({"--version", "2.3.1"}, "ATE0\rAT+NPUCFG?\r\n");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.output, HasSubstr("NPU boot 2.3.1"));
  EXPECT_TRUE(run.output.ends_with("OK\r\nFW_VER:2.3.1\r\nOK\r\n")) << run.output;
}

TEST(FirmwareProcess, diesWithItsParent) {
  int to[2];
  int from[2];
  ASSERT_EQ(::pipe2(to, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(from, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    spawn_firmware({}, to[0], from[1]);
    for (;;) ::pause();
  }
  // Held open, so that it cannot be the end of its input that ends it.
  const UniqueFd writer(to[1]);
  const UniqueFd reader(from[0]);
  UniqueFd(to[0]).reset();
  UniqueFd(from[1]).reset();
  char buffer[512];
  EXPECT_GT(::read(reader.get(), buffer, sizeof buffer), 0);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  while (::read(reader.get(), buffer, sizeof buffer) > 0) continue;
}

TEST(FirmwareProcess, damagesEveryByteTheSameWayEachTime) {
  const std::string good = run_firmware({}, "AT+NPUCFG?\r").output;
  const std::string bad = run_firmware({"--line-fault", "garbage"}, "AT+NPUCFG?\r").output;
  ASSERT_EQ(bad.size(), good.size());
  for (std::size_t i = 0; i < good.size(); ++i) EXPECT_NE(bad[i], good[i]) << i;
  EXPECT_EQ(run_firmware({"--line-fault", "garbage"}, "AT+NPUCFG?\r").output, bad);
  EXPECT_EQ(run_firmware({"--line-fault", "silent"}, "AT+NPUCFG?\r").output, "");
}

TEST(FirmwareProcess, refusesBadArguments) {
  EXPECT_THAT(run_firmware({"--help"}, "").output, HasSubstr("--line-fault"));
  EXPECT_EQ(run_firmware({"--help"}, "").exit_code, 0);
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--nonsense"},
                                             {"--version"},
                                             {"--line-fault", "loud"},
                                             {"--version", "2.3\r\nOK"},
                                             {"--serial", ""},
                                             {"--serial", std::string(65, '7')},
                                             {"extra"}}) {
    const Outcome run = run_firmware(arguments, "");
    EXPECT_EQ(run.exit_code, 2) << arguments.front();
    EXPECT_EQ(run.output, "");
  }
}

}  // namespace
}  // namespace assay::firmware
