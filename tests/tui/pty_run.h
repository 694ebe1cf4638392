// A child process on a terminal of its own (a pty), as a person at it would use it. Every wait has
// a deadline.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <functional>
#include <string>

#include "base/fd.h"

namespace assay::tui {

class PtyRun {
 public:
  // `child` runs in the child process, stdin and stdout being the terminal, its result the exit
  // code.
  PtyRun(int rows, int cols, const std::function<int()>& child);
  ~PtyRun();
  PtyRun(const PtyRun&) = delete;
  PtyRun& operator=(const PtyRun&) = delete;

  // Reads until the text has come. False when it does not in time; nothing read is forgotten.
  bool wait_for(const std::string& text);
  // Reads what comes within some milliseconds.
  void wait_briefly() { read_some(); }
  // Forgets what was read so far.
  void forget() { output_.clear(); }
  const std::string& output() const { return output_; }

  void type(const std::string& keys);
  void resize(int rows, int cols);
  void send(int signal);
  void hang_up();

  // The wait status; -1 when the child does not end in time.
  int wait_for_end();
  bool modes_as_before() const;

 private:
  bool read_some();

  UniqueFd master_;
  UniqueFd slave_;  // kept open, so that the terminal outlives the child
  termios before_{};
  pid_t child_ = -1;
  std::string output_;
};

}  // namespace assay::tui
