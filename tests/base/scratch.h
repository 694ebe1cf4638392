// A folder of files for one test, gone with it.
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

namespace assay::test {

class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "assay-test-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string root() const { return path_; }
  // "sys/class" and "/sys/class" are the same place below the folder.
  std::string operator/(const std::string& name) const { return path_.string() + "/" + name; }

  void write(const std::string& name, const std::string& content) const {
    const std::filesystem::path path = *this / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }
  void append(const std::string& name, const std::string& content) const {
    std::ofstream(*this / name, std::ios::binary | std::ios::app) << content;
  }
  void link(const std::string& name, const std::string& target) const {
    const std::filesystem::path path = *this / name;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_symlink(target, path);
  }
  std::string content(const std::string& name) const {
    std::ifstream file(*this / name, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      all.insert(entry.path().filename());
    }
    return all;
  }

 private:
  std::filesystem::path path_;
};

// Calls `work` while no file of this process can grow beyond `bytes`.
template <class Work>
auto with_file_size_limit(rlim_t bytes, Work work) {
  struct Limit {
    explicit Limit(rlim_t limited) {
      handler = signal(SIGXFSZ, SIG_IGN);
      getrlimit(RLIMIT_FSIZE, &before);
      const rlimit now{limited, before.rlim_max};
      setrlimit(RLIMIT_FSIZE, &now);
    }
    ~Limit() {
      setrlimit(RLIMIT_FSIZE, &before);
      signal(SIGXFSZ, handler);
    }
    rlimit before{};
    void (*handler)(int) = nullptr;
  };
  const Limit limit(bytes);
  return work();
}

}  // namespace assay::test
