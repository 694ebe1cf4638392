// Bytes of a log as lines, in whatever pieces they come, in bounded memory. No I/O.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace assay::probes {

class LineReader {
 public:
  // A record of /dev/kmsg has at most 8 KiB (PRINTKRB_RECORD_MAX, kernel/printk/internal.h); what
  // is longer is no message of a kernel. It is cut there and counted.
  static constexpr std::size_t most_line_bytes = 8192;

  // Calls `on_line` with each whole line, without its line end ("\n" or "\r\n").
  template <class OnLine>
  void feed(std::string_view bytes, OnLine on_line) {
    bytes_ += bytes.size();
    while (!bytes.empty()) {
      const void* const found = std::memchr(bytes.data(), '\n', bytes.size());
      if (found == nullptr) {
        keep(bytes);
        begun_ = true;
        return;
      }
      const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
      if (!begun_) {
        emit(bytes.substr(0, length), on_line);
      } else {
        keep(bytes.substr(0, length));
        emit(unfinished_, on_line);
        unfinished_.clear();
        begun_ = false;
      }
      bytes.remove_prefix(length + 1);
    }
  }

  // The last line, where the log ends without a line end.
  template <class OnLine>
  void finish(OnLine on_line) {
    if (!begun_) return;
    emit(unfinished_, on_line);
    unfinished_.clear();
    begun_ = false;
  }

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t lines() const { return lines_; }
  // Lines of which only the first most_line_bytes were handed over.
  std::uint64_t cut_lines() const { return cut_lines_; }

 private:
  // Two bytes more than a line may have, one of them "\r", show that it was longer.
  void keep(std::string_view part) {
    const std::size_t room = most_line_bytes + 2 - unfinished_.size();
    unfinished_.append(part.substr(0, room));
  }

  template <class OnLine>
  void emit(std::string_view line, OnLine& on_line) {
    ++lines_;
    if (line.size() <= most_line_bytes + 1 && line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > most_line_bytes) {
      ++cut_lines_;
      line = line.substr(0, most_line_bytes);
    }
    on_line(line);
  }

  std::string unfinished_;
  bool begun_ = false;
  std::uint64_t bytes_ = 0;
  std::uint64_t lines_ = 0;
  std::uint64_t cut_lines_ = 0;
};

}  // namespace assay::probes
