#include "tests/support/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace assay::test {

Program::Program(const std::vector<std::string>& argv) {
  std::string name = std::filesystem::temp_directory_path() / "assay-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  folder_ = name;
  const std::string out = folder_ / "out";
  const std::string err = folder_ / "err";
  std::vector<char*> pointers;
  for (const auto& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ == 0) {
    // Only async-signal-safe calls here.
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
}

Program::~Program() {
  if (!reaped_) {
    kill(SIGKILL);
    reap(0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Program::kill(int signal) const {
  if (!reaped_) ::kill(pid_, signal);
}

void Program::reap(int options) {
  while (!reaped_) {
    const pid_t done = waitpid(pid_, &status_, options);
    if (done < 0 && errno == EINTR) continue;
    reaped_ = done != 0;
    break;
  }
}

bool Program::running() {
  reap(WNOHANG);
  return !reaped_;
}

Finished Program::wait() {
  reap(0);
  Finished finished;
  finished.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  finished.out = read_file(folder_ / "out");
  finished.err = read_file(folder_ / "err");
  return finished;
}

std::vector<std::string> assay_argv(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), ASSAY_PROGRAM);
  return arguments;
}

Finished assay(const std::vector<std::string>& arguments) {
  return Program(assay_argv(arguments)).wait();
}

TemporaryFolder::TemporaryFolder() {
  std::string name = std::filesystem::temp_directory_path() / "assay-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

void write_file(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace assay::test
