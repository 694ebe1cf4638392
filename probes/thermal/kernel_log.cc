#include "probes/thermal/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/utf8.h"

namespace assay::probes {
namespace {

constexpr std::size_t max_lines = 1000;
constexpr std::size_t max_bytes = std::size_t{16} << 20;

}  // namespace

std::string kmsg_message(std::string_view record) {
  const std::size_t semicolon = record.find(';');
  if (record.empty() || record[0] == ' ' || semicolon == record.npos) return {};
  return to_printable(record.substr(semicolon + 1, 1000));
}

std::vector<std::string> kernel_log_lines(const Machine& machine, std::string_view wanted) {
  std::vector<std::string> lines;
  const auto fd = machine.open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
  if (!fd) return lines;
  std::string text;
  char buffer[8192];
  // The device gives one record a read and EAGAIN at its end; EPIPE means that records were
  // overwritten in between. A file gives all of it.
  while (text.size() < max_bytes) {
    const ssize_t n = ::read(fd->get(), buffer, sizeof buffer);
    if (n < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  std::string_view rest = text;
  while (!rest.empty() && lines.size() < max_lines) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string message = kmsg_message(rest.substr(0, end));
    if (message.find(wanted) != std::string::npos) lines.push_back(message);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

}  // namespace assay::probes
