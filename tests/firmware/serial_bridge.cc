#include "tests/firmware/serial_bridge.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "base/clock.h"

namespace assay::test {
namespace {

constexpr std::int64_t bits_of_a_byte = 10;
constexpr std::size_t fifo_bytes = 16;

}  // namespace

std::size_t SerialBridge::Wire::through(std::int64_t now_ns, std::int64_t byte_ns) const {
  if (byte_ns == 0 || clear_ns <= now_ns) return have;
  const auto on_it = static_cast<std::size_t>((clear_ns - now_ns + byte_ns - 1) / byte_ns);
  return have > on_it ? have - on_it : 0;
}

std::int64_t SerialBridge::Wire::next_ns(std::int64_t byte_ns) const {
  const std::size_t behind = have - std::min(have, fifo_bytes);
  return clear_ns - static_cast<std::int64_t>(behind) * byte_ns;
}

void SerialBridge::Wire::take(std::size_t count) {
  have -= count;
  std::memmove(bytes, bytes + count, have);
}

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
  if (board) ::fcntl(board.get(), F_SETFL, ::fcntl(board.get(), F_GETFL) | O_NONBLOCK);
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
  // A cable is on time: the default slack of 50 us is five bytes at 921600 baud.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
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
  std::int64_t now = monotonic_ns();
  std::int64_t until = INT64_MAX;
  for (const Wire* wire : {&to_board_, &to_tool_}) {
    if (wire->have > 0 && wire->next_ns(byte_ns_) > now) {
      until = std::min(until, wire->next_ns(byte_ns_));
    }
  }
  const auto events = [&](const Wire& in, const Wire& out) {
    const bool due = out.have > 0 && out.next_ns(byte_ns_) <= now;
    return static_cast<short>((in.full() ? 0 : POLLIN) | (due ? POLLOUT : 0));
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
  now = monotonic_ns();
  (void)fill(&to_board_, master_.get());
  // That the other side is gone shows when it is read from.
  if (const std::size_t ready = to_tool_.through(now, byte_ns_); ready > 0) {
    const ssize_t count = ::write(master_.get(), to_tool_.bytes, ready);
    if (count > 0) to_tool_.take(static_cast<std::size_t>(count));
  }
  if (board < 0) {
    to_board_.drop();
    return true;
  }
  if (const std::size_t ready = to_board_.through(now, byte_ns_); ready > 0) {
    const ssize_t count = ::send(board, to_board_.bytes, ready, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) to_board_.take(static_cast<std::size_t>(count));
  }
  const ssize_t came = fill(&to_tool_, board);
  if (came > 0) {
    const std::lock_guard lock(mutex_);
    heard_ = true;
    changed_.notify_all();
  }
  return came >= 0;
}

ssize_t SerialBridge::fill(Wire* wire, int from) const {
  if (wire->full()) return 0;
  const ssize_t count = ::read(from, wire->bytes + wire->have, sizeof wire->bytes - wire->have);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (count <= 0) return -1;
  wire->have += static_cast<std::size_t>(count);
  wire->clear_ns = std::max(wire->clear_ns, monotonic_ns()) + count * byte_ns_;
  return count;
}

}  // namespace assay::test
