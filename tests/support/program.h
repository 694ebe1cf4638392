// Runs a program of this project as a person would: its own process, its output, its exit code.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace assay::test {

struct Finished {
  int exit_code = -1;  // 128 + signal when killed by one
  std::string out;
  std::string err;
};

class Program {
 public:
  // argv[0] is a path. Standard input is /dev/null; output goes to files in a folder of its own.
  explicit Program(const std::vector<std::string>& argv);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void kill(int signal) const;
  bool running();
  Finished wait();

 private:
  void reap(int options);

  std::filesystem::path folder_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool reaped_ = false;
};

// The assay binary of this build with these arguments, run to its end.
Finished assay(const std::vector<std::string>& arguments);
std::vector<std::string> assay_argv(std::vector<std::string> arguments);

// A folder that is gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& content);

// Looks at a condition until it holds or `seconds` are over.
template <class Condition>
bool eventually(double seconds, Condition condition);

}  // namespace assay::test

#include <poll.h>

#include "base/clock.h"

namespace assay::test {

template <class Condition>
bool eventually(double seconds, Condition condition) {
  const std::int64_t deadline =
      monotonic_ns() + static_cast<std::int64_t>(seconds * static_cast<double>(ns_per_s));
  while (!condition()) {
    if (monotonic_ns() > deadline) return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

}  // namespace assay::test
