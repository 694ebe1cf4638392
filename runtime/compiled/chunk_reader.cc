#include "runtime/compiled/chunk_reader.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "runtime/compiled/chunk_codec.h"

namespace assay::runtime::npu {
namespace {

// What the kernel is asked to have ready before it is read.
constexpr std::uint64_t ahead_bytes = 16U << 20;

class Stopwatch {
 public:
  explicit Stopwatch(std::int64_t& sum) : sum_(sum), start_(monotonic_ns()) {}
  ~Stopwatch() { sum_ += monotonic_ns() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::int64_t& sum_;
  std::int64_t start_;
};

Result<> read_at(const NpuFile& file, std::uint64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(file.fd(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "cannot read", file.path());
    if (n == 0) {
      return fail(ErrorKind::vanished, "the file became shorter while it was read", file.path());
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

// One chunk on its way; the threads share it.
class ChunkLoad {
 public:
  ChunkLoad(const NpuFile& file, const Chunk& chunk, std::span<std::byte> memory)
      : file_(file), chunk_(chunk), pieces_(file.index().pieces_of(chunk)), memory_(memory) {
    offsets_.reserve(pieces_.size());
    std::uint64_t offset = chunk.offset;
    for (const Piece& piece : pieces_) {
      offsets_.push_back(offset);
      offset += piece.stored_bytes;
    }
  }

  void work(const CancelToken& cancel) {
    ReadTimes times;
    std::vector<std::byte> stored;
    for (;;) {
      const std::size_t number = next_.fetch_add(1);
      if (number >= pieces_.size() || failed_) break;
      Result<> done;
      if (cancel.cancelled()) {
        done = fail(ErrorKind::cancelled, "reading the model was cancelled");
      } else {
        done = load(number, stored, times);
      }
      if (!done) note(done.error());
    }
    const std::lock_guard lock(mutex_);
    times_ += times;
  }

  Result<ReadTimes> result() const {
    if (error_) return std::unexpected(*error_);
    return times_;
  }

 private:
  Result<> load(std::size_t number, std::vector<std::byte>& stored, ReadTimes& times) {
    const Piece& piece = pieces_[number];
    const std::size_t start = number * std::size_t{piece_bytes};
    const auto memory =
        memory_.subspan(start, std::min<std::size_t>(piece_bytes, memory_.size() - start));
    const bool packed = piece.stored_bytes != memory.size();
    if (packed) stored.resize(piece_bytes);
    {
      const Stopwatch reading(times.read_ns);
      ask_ahead(number);
      const auto to = packed ? std::span(stored).first(piece.stored_bytes) : memory;
      if (auto read = read_at(file_, offsets_[number], to); !read) return read;
    }
    times.stored_bytes += piece.stored_bytes;
    times.bytes += memory.size();
    if (packed) {
      const Stopwatch unfolding(times.unfold_ns);
      const auto unfolded =
          unfold(chunk_.codec, std::span(stored).first(piece.stored_bytes), memory);
      if (!unfolded) return damaged(number, unfolded.error().what);
    }
    const Stopwatch checking(times.check_ns);
    if (XXH3_64bits(memory.data(), memory.size()) != piece.checksum) {
      return damaged(number, "its checksum is not that which it was written with");
    }
    return {};
  }

  // Errors are no matter: what is not read ahead is read when it is its turn.
  void ask_ahead(std::size_t number) const {
    const std::uint64_t end = chunk_.offset + chunk_.stored_bytes;
    const std::uint64_t from = number == 0 ? offsets_[0] : offsets_[number] + ahead_bytes;
    if (from >= end) return;
    const std::uint64_t bytes = number == 0 ? ahead_bytes + piece_bytes : piece_bytes;
    (void)::posix_fadvise(file_.fd(), static_cast<off_t>(from),
                          static_cast<off_t>(std::min(bytes, end - from)), POSIX_FADV_WILLNEED);
  }

  std::unexpected<Error> damaged(std::size_t number, const std::string& how) const {
    return fail(ErrorKind::bad_file,
                fmt::format("chunk {} is damaged at byte {}: {}",
                            &chunk_ - file_.index().chunks.data(), offsets_[number], how),
                file_.path(), "copy the file again, or compile the model again");
  }

  void note(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    failed_ = true;
  }

  const NpuFile& file_;
  const Chunk& chunk_;
  std::span<const Piece> pieces_;
  std::span<std::byte> memory_;
  std::vector<std::uint64_t> offsets_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  ReadTimes times_;
  std::optional<Error> error_;
};

}  // namespace

ReadTimes& ReadTimes::operator+=(const ReadTimes& other) {
  stored_bytes += other.stored_bytes;
  bytes += other.bytes;
  wall_ns += other.wall_ns;
  read_ns += other.read_ns;
  unfold_ns += other.unfold_ns;
  check_ns += other.check_ns;
  return *this;
}

Result<ReadTimes> read_chunk(const NpuFile& file, const Chunk& chunk, std::span<std::byte> memory,
                             WorkerPool& pool, const CancelToken& cancel) {
  const std::int64_t start = monotonic_ns();
  ChunkLoad load(file, chunk, memory);
  pool.run([&](unsigned) { load.work(cancel); });
  auto times = load.result();
  if (times) times->wall_ns = monotonic_ns() - start;
  return times;
}

}  // namespace assay::runtime::npu
