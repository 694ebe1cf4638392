#include "probes/thermal/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "base/utf8.h"

namespace assay::probes {
namespace {

constexpr const char* kernel_log_path = "/dev/kmsg";
constexpr std::size_t max_lines = 1000;
constexpr std::size_t max_bytes = std::size_t{16} << 20;

std::string read_log(const Machine& machine) {
  std::string text;
  // What was read before it failed is as good as any.
  (void)read_kernel_log(machine, [&](std::string_view records) {
    text.append(records);
    return text.size() < max_bytes;
  });
  return text;
}

// "priority,sequence,...": none for a continuation line.
std::optional<std::uint64_t> sequence_of(std::string_view record) {
  const std::size_t comma = record.find(',');
  if (record.empty() || record[0] == ' ' || comma == record.npos) return std::nullopt;
  std::uint64_t sequence = 0;
  const char* end = record.data() + record.size();
  const auto [at, error] = std::from_chars(record.data() + comma + 1, end, sequence);
  if (error != std::errc{} || at == end || *at != ',' || sequence == UINT64_MAX) {
    return std::nullopt;
  }
  return sequence;
}

template <class OnRecord>
void for_each_record(std::string_view text, OnRecord on_record) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    on_record(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

Result<> read_kernel_log(const Machine& machine,
                         const std::function<bool(std::string_view records)>& take) {
  const auto fd = machine.open(kernel_log_path, O_RDONLY | O_NONBLOCK);
  if (!fd) return std::unexpected(fd.error());
  char buffer[8192];
  for (;;) {
    const ssize_t n = ::read(fd->get(), buffer, sizeof buffer);
    // EPIPE: records were overwritten in between. EAGAIN: the device's end.
    if (n < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (n == 0 || (n < 0 && errno == EAGAIN)) return {};
    if (n < 0) return fail_errno(errno, "cannot read the kernel's log", kernel_log_path);
    if (!take({buffer, static_cast<std::size_t>(n)})) return {};
  }
}

std::string kmsg_message(std::string_view record) {
  const std::size_t semicolon = record.find(';');
  if (record.empty() || record[0] == ' ' || semicolon == record.npos) return {};
  return to_printable(record.substr(semicolon + 1, 1000));
}

std::vector<std::string> kernel_log_lines(const Machine& machine, std::string_view wanted,
                                          std::uint64_t since) {
  std::vector<std::string> lines;
  const std::string text = read_log(machine);
  for_each_record(text, [&](std::string_view record) {
    if (lines.size() >= max_lines || sequence_of(record).value_or(0) < since) return;
    std::string message = kmsg_message(record);
    if (message.find(wanted) != std::string::npos) lines.push_back(std::move(message));
  });
  return lines;
}

std::uint64_t kernel_log_end(const Machine& machine) {
  std::uint64_t end = 0;
  const std::string text = read_log(machine);
  for_each_record(text, [&](std::string_view record) {
    if (const auto sequence = sequence_of(record)) end = std::max(end, *sequence + 1);
  });
  return end;
}

}  // namespace assay::probes
