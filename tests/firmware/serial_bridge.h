// A serial cable: a pseudo-terminal that a tool opens, joined to the socket of an emulated UART.
// The port is there as long as the object, as an adapter's is whether the board has power or not.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/result.h"

namespace assay::test {

class SerialBridge {
 public:
  // With `baud` each byte takes its ten bits' time, both ways; 0: as fast as it goes.
  static Result<std::unique_ptr<SerialBridge>> make(int baud);
  ~SerialBridge();
  SerialBridge(const SerialBridge&) = delete;
  SerialBridge& operator=(const SerialBridge&) = delete;

  const std::string& path() const { return path_; }

  // From now on this is the board's side; not valid: none, and what the tool sends is lost. What is
  // on the cable of the board before is lost, too.
  void connect(UniqueFd board);
  // Whether the board has said anything since connect(); waits for it until the deadline, or until
  // the board hangs up.
  bool wait_for_board(std::int64_t deadline_ns);

 private:
  // One way of the cable. Bytes follow each other on it; after a pause they begin when they come.
  struct Wire {
    std::uint8_t bytes[1024];
    std::size_t have = 0;
    std::int64_t clear_ns = 0;  // when the last of them has come through

    bool full() const { return have == sizeof bytes; }
    void drop() { have = 0; }
    // How many have come through by then.
    std::size_t through(std::int64_t now_ns, std::int64_t byte_ns) const;
    // When there is something to hand over: as many at once as a UART's FIFO holds.
    std::int64_t next_ns(std::int64_t byte_ns) const;
    void take(std::size_t count);
  };

  SerialBridge(UniqueFd master, UniqueFd slave, UniqueFd wake, std::string path, int baud);
  void run(const std::stop_token& stop);
  // Waits until something can be done, and does it. False when the board has hung up.
  bool step(int board);
  // How many bytes came; -1 when the other side has hung up.
  ssize_t fill(Wire* wire, int from) const;

  UniqueFd master_;
  UniqueFd slave_;  // kept open: with nobody at the slave the master hangs up
  UniqueFd wake_;
  std::string path_;
  std::int64_t byte_ns_;
  Wire to_board_;
  Wire to_tool_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const UniqueFd> board_;  // null: none
  bool heard_ = false;
  std::uint64_t wanted_ = 0;  // calls of connect()
  std::uint64_t seen_ = 0;    // the last of them that the thread works with

  std::jthread thread_;  // the last: it uses all the others
};

}  // namespace assay::test
