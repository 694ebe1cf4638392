#include "tests/firmware/serial_bridge.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <termios.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "base/clock.h"

namespace assay::test {
namespace {

constexpr std::int64_t bits_of_a_byte = 10;
// With a rate, as many at once as a UART's FIFO holds.
constexpr std::size_t slow_chunk = 16;

// What has come through and the other side takes; that it is gone shows when it is read from.
template <class Wire, class Write>
void drain(Wire* wire, Write write) {
  if (wire->empty() || wire->due_ns > monotonic_ns()) return;
  const ssize_t count = write(wire->bytes + wire->at, wire->have - wire->at);
  if (count > 0) wire->at += static_cast<std::size_t>(count);
}

}  // namespace

Result<std::unique_ptr<SerialBridge>> SerialBridge::make(int baud) {
  UniqueFd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  char name[64] = "";
  if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0 ||
      ::ptsname_r(master.get(), name, sizeof name) != 0) {
    return fail_errno(errno, "cannot make a pseudo-terminal");
  }
  UniqueFd slave(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings{};
  if (!slave || ::tcgetattr(slave.get(), &settings) != 0) return fail_errno(errno, "open", name);
  ::cfmakeraw(&settings);
  if (::tcsetattr(slave.get(), TCSANOW, &settings) != 0) return fail_errno(errno, "set up", name);
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno(errno, "eventfd");
  return std::unique_ptr<SerialBridge>(
      new SerialBridge(std::move(master), std::move(slave), std::move(wake), name, baud));
}

SerialBridge::SerialBridge(UniqueFd master, UniqueFd slave, UniqueFd wake, std::string path,
                           int baud)
    : master_(std::move(master)),
      slave_(std::move(slave)),
      wake_(std::move(wake)),
      path_(std::move(path)),
      byte_ns_(baud == 0 ? 0 : bits_of_a_byte * ns_per_s / baud),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

SerialBridge::~SerialBridge() {
  thread_.request_stop();
  (void)::eventfd_write(wake_.get(), 1);
}

void SerialBridge::connect(UniqueFd board) {
  std::unique_lock lock(mutex_);
  board_ = board ? std::make_shared<const UniqueFd>(std::move(board)) : nullptr;
  heard_ = false;
  ++wanted_;
  (void)::eventfd_write(wake_.get(), 1);
  changed_.notify_all();
  changed_.wait(lock, [&] { return seen_ == wanted_; });
}

bool SerialBridge::wait_for_board(std::int64_t deadline_ns) {
  std::unique_lock lock(mutex_);
  const auto left =
      std::chrono::nanoseconds(std::max<std::int64_t>(deadline_ns - monotonic_ns(), 0));
  changed_.wait_for(lock, left, [&] { return heard_ || board_ == nullptr; });
  return heard_;
}

void SerialBridge::run(const std::stop_token& stop) {
  std::shared_ptr<const UniqueFd> board;
  while (!stop.stop_requested()) {
    {
      const std::lock_guard lock(mutex_);
      if (seen_ != wanted_) {
        to_board_.drop();
        to_tool_.drop();
        seen_ = wanted_;
        changed_.notify_all();
      }
      board = board_;
    }
    if (step(board != nullptr ? board->get() : -1)) continue;
    const std::lock_guard lock(mutex_);
    if (seen_ == wanted_) board_.reset();
    changed_.notify_all();
  }
}

bool SerialBridge::step(int board) {
  const std::int64_t now = monotonic_ns();
  std::int64_t until = INT64_MAX;
  for (const Wire* wire : {&to_board_, &to_tool_}) {
    if (!wire->empty() && wire->due_ns > now) until = std::min(until, wire->due_ns);
  }
  const auto events = [&](const Wire& in, const Wire& out) {
    const bool due = !out.empty() && out.due_ns <= now;
    return static_cast<short>((in.empty() ? POLLIN : 0) | (due ? POLLOUT : 0));
  };
  pollfd files[] = {{wake_.get(), POLLIN, 0},
                    {master_.get(), events(to_board_, to_tool_), 0},
                    {board, events(to_tool_, to_board_), 0}};
  // A hang-up is reported to who asks for nothing, too, and would be again and again.
  if (files[2].events == 0) files[2].fd = -1;
  const timespec timeout{static_cast<time_t>((until - now) / ns_per_s),
                         static_cast<long>((until - now) % ns_per_s)};
  if (::ppoll(files, 3, until == INT64_MAX ? nullptr : &timeout, nullptr) < 0) return true;
  if ((files[0].revents & POLLIN) != 0) {
    eventfd_t ignored = 0;
    (void)::eventfd_read(wake_.get(), &ignored);
    return true;  // there may be another board
  }
  (void)fill(&to_board_, master_.get());
  drain(&to_tool_,
        [&](const auto* bytes, auto size) { return ::write(master_.get(), bytes, size); });
  if (board < 0) {
    to_board_.drop();
    return true;
  }
  drain(&to_board_, [&](const auto* bytes, auto size) {
    return ::send(board, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  });
  const ssize_t came = fill(&to_tool_, board);
  if (came > 0) {
    const std::lock_guard lock(mutex_);
    heard_ = true;
    changed_.notify_all();
  }
  return came >= 0;
}

ssize_t SerialBridge::fill(Wire* wire, int from) const {
  if (!wire->empty()) return 0;
  const std::size_t most = byte_ns_ == 0 ? sizeof wire->bytes : slow_chunk;
  const ssize_t count = ::read(from, wire->bytes, most);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (count <= 0) return -1;
  wire->at = 0;
  wire->have = static_cast<std::size_t>(count);
  // Bytes follow each other; after a pause they begin now.
  wire->due_ns = std::max(wire->due_ns, monotonic_ns()) + count * byte_ns_;
  return count;
}

}  // namespace assay::test
