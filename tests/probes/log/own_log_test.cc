// The log of the machine that the test runs on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/machine.h"
#include "tests/probes/log/diagnosed.h"

namespace assay::probes {
namespace {

std::string own_log() {
  std::string text;
  const auto fd = Machine().open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
  if (!fd) return text;
  char buffer[LineReader::most_line_bytes];
  for (;;) {
    const ssize_t n = ::read(fd->get(), buffer, sizeof buffer);
    if (n < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

// What the log says must be what the machine says of itself.
TEST(OwnLog, agreesWithTheMachine) {
  const std::string text = own_log();
  if (text.find("Linux version") == std::string::npos) {
    GTEST_SKIP() << "the log cannot be read, or its beginning is gone";
  }
  const LogResult result = diagnosed(text);
  utsname names{};
  ASSERT_EQ(uname(&names), 0);
  EXPECT_EQ(result.kernel, names.release);
  EXPECT_EQ(result.page_bytes, static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(result.page_size_from, PageSizeFrom::log);
  for (const LogFinding& found : result.findings) {
    EXPECT_NE(found.finding.evidence.front().find("line "), std::string::npos);
    EXPECT_FALSE(found.first.empty());
  }
}

}  // namespace
}  // namespace assay::probes
