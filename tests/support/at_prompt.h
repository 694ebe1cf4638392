// A board of another maker at the end of a pseudo-terminal: what it answers to AT commands is the
// test's.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/fd.h"

namespace assay::test {

class AtPrompt {
 public:
  // Called in the prompt's thread with each line that came, without control characters and never
  // empty. What it returns is said.
  using Answer = std::function<std::string(AtPrompt& prompt, const std::string& command)>;
  explicit AtPrompt(Answer answer);
  ~AtPrompt();
  AtPrompt(const AtPrompt&) = delete;
  AtPrompt& operator=(const AtPrompt&) = delete;

  const std::string& path() const { return path_; }

  // For Answer alone. The board's end, for a receiver of files.
  int line() const { return master_.get(); }
  void say(const std::string& text);
  // Of the host; waits for them.
  std::string take(std::size_t bytes);
  // For good: the port is gone.
  void unplug() { master_.reset(); }

 private:
  void run();

  Answer answer_;
  UniqueFd master_;
  UniqueFd slave_;  // kept open: with nobody at the slave the master hangs up
  UniqueFd stop_;
  std::string path_;
  std::jthread thread_;
};

}  // namespace assay::test
