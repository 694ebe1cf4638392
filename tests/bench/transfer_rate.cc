// How much of a serial line's rate an update uses: this project's sender, and lrzsz's `sb`, to the
// reference firmware over a cable on which each byte takes its ten bits' time. The limit of this
// machine: a block as long as YMODEM's and a byte back, with nothing done at either end.
#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "firmware/image/firmware_image.h"
#include "firmware/serial/at_client.h"
#include "firmware/serial/smp_client.h"
#include "firmware/serial/ymodem_sender.h"
#include "firmware/update/board_client.h"
#include "tests/firmware/serial_bridge.h"

extern char** environ;

namespace assay {
namespace {

enum class Way { bare, ymodem, smp, lrzsz };
constexpr const char* names[] = {"a block, a byte back", "assay, YMODEM", "assay, SMP",
                                 "lrzsz sb -k"};
constexpr std::size_t block_bytes = 1024;
constexpr std::size_t framed_block_bytes = 3 + block_bytes + 2;

Result<pid_t> spawn(const std::vector<std::string>& command, int input, int output) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno(error, "cannot start", command.front());
  return pid;
}

// A board behind the cable, for one transfer.
class Board {
 public:
  static Result<Board> make(test::SerialBridge& cable) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return fail_errno(errno, "cannot make a socket");
    }
    UniqueFd ours(ends[0]);
    const UniqueFd theirs(ends[1]);
    const auto program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "assay-npu-firmware";
    const auto pid = spawn({program, "--board", "b"}, theirs.get(), theirs.get());
    if (!pid) return std::unexpected(pid.error());
    cable.connect(std::move(ours));
    if (!cable.wait_for_board(monotonic_ns() + 10 * ns_per_s)) {
      return fail(ErrorKind::timeout, "the firmware does not boot");
    }
    return Board(*pid);
  }
  Board(Board&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Board& operator=(Board&&) = delete;
  ~Board() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  explicit Board(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

// Seconds from the first acknowledged byte to the last; of `sb` from its start to its end.
Result<double> transfer(Way way, const std::string& port, const firmware::FirmwareImage& image,
                        const std::string& file) {
  auto transport = firmware::open_transport(port, 115200);
  if (!transport) return std::unexpected(transport.error());
  firmware::AtClient client(**transport);
  const std::int64_t before_ns = monotonic_ns();
  std::int64_t begin_ns = 0;
  std::uint64_t begin_bytes = 0;
  std::int64_t end_ns = 0;
  const auto progress = [&](std::uint64_t done) {
    end_ns = monotonic_ns();
    if (begin_ns == 0) {
      begin_ns = end_ns;
      begin_bytes = done;
    }
  };
  const auto share = [&] {
    return static_cast<double>(end_ns - begin_ns) / 1e9 * static_cast<double>(image.bytes.size()) /
           static_cast<double>(image.bytes.size() - begin_bytes);
  };
  if (way == Way::smp) {
    firmware::SmpClient smp(**transport);
    const auto sent = smp.upload(image.bytes, progress);
    if (!sent) return std::unexpected(sent.error());
    return share();
  }
  if (auto begun = firmware::order(client, "AT+UPDATE"); !begun) {
    return std::unexpected(begun.error());
  }
  if (way == Way::ymodem) {
    firmware::ModemOptions options;
    options.on_progress = progress;
    if (auto sent = send_file(**transport, "b.bin", image.bytes, options); !sent) {
      return std::unexpected(sent.error());
    }
    return share();
  }
  transport->reset();
  const UniqueFd terminal(open(port.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  const auto pid = spawn({"sb", "-q", "-k", file}, terminal.get(), terminal.get());
  if (!pid) return std::unexpected(pid.error());
  int status = 0;
  waitpid(*pid, &status, 0);
  if (status != 0) return fail(ErrorKind::protocol, "sb failed");
  return static_cast<double>(monotonic_ns() - before_ns) / 1e9;
}

// The same of blocks that mean nothing.
Result<double> transfer_bare(test::SerialBridge& cable, std::size_t size) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno(errno, "cannot make a socket");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const auto transport = firmware::open_transport(cable.path(), 115200);
  if (!transport) return std::unexpected(transport.error());
  const std::jthread receiver([&] {
    std::uint8_t bytes[framed_block_bytes];
    while (recv(theirs.get(), bytes, sizeof bytes, MSG_WAITALL) == sizeof bytes &&
           send(theirs.get(), bytes, 1, MSG_NOSIGNAL) == 1) {
    }
  });
  cable.connect(std::move(ours));
  const auto blocks = [&](std::size_t count) -> Result<> {
    const std::vector<std::uint8_t> block(framed_block_bytes, 0x5A);
    std::uint8_t answer = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t deadline = monotonic_ns() + ns_per_s;
      if (auto sent = (*transport)->write(block, deadline); !sent) return sent;
      if (auto got = (*transport)->read({&answer, 1}, deadline); !got) {
        return std::unexpected(got.error());
      }
    }
    return {};
  };
  const std::int64_t begin_ns = monotonic_ns();
  const auto done = blocks(size / block_bytes);
  const std::int64_t end_ns = monotonic_ns();
  cable.connect(UniqueFd());
  if (!done) return std::unexpected(done.error());
  return static_cast<double>(end_ns - begin_ns) / 1e9 * static_cast<double>(size) /
         static_cast<double>(size / block_bytes * block_bytes);
}

Result<> run(std::uint32_t seconds, int rounds) {
  std::string folder = (std::filesystem::temp_directory_path() / "assay-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return fail_errno(errno, "cannot make a folder", folder);
  fmt::print(
      "| baud | sender | share of the wire's rate | all {} rounds |\n| --- | --- | --- | --- |\n",
      rounds);
  for (const int baud : {115200, 921600}) {
    const std::vector<std::uint8_t> payload(static_cast<std::size_t>(baud) / 10 * seconds, 0x5A);
    const auto image = firmware::pack_image(payload, {"b", "1.0.0", 0});
    if (!image) return std::unexpected(image.error());
    const std::string file = folder + "/image.bin";
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(image->bytes.data()),
               static_cast<std::streamsize>(image->bytes.size()));
    const double at_wire_rate = static_cast<double>(image->bytes.size()) * 10 / baud;
    for (const Way way : {Way::bare, Way::ymodem, Way::smp, Way::lrzsz}) {
      std::vector<double> shares;
      for (int round = 0; round < rounds; ++round) {
        const auto cable = test::SerialBridge::make(baud);
        if (!cable) return std::unexpected(cable.error());
        const auto seconds_taken = [&]() -> Result<double> {
          if (way == Way::bare) return transfer_bare(**cable, image->bytes.size());
          const auto board = Board::make(**cable);
          if (!board) return std::unexpected(board.error());
          return transfer(way, (*cable)->path(), *image, file);
        }();
        if (!seconds_taken) return std::unexpected(seconds_taken.error());
        shares.push_back(at_wire_rate / *seconds_taken);
      }
      std::string all;
      for (const double share : shares) all += fmt::format(" {:.3f}", share);
      std::sort(shares.begin(), shares.end());
      fmt::print("| {} | {} | {:.3f} |{} |\n", baud, names[static_cast<int>(way)],
                 shares[shares.size() / 2], all);
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return {};
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  CLI::App app("The share of a serial line's rate that an update uses.");
  std::uint32_t seconds = 10;
  int rounds = 3;
  app.add_option("--seconds", seconds, "of each transfer")->capture_default_str();
  app.add_option("--rounds", rounds, "the median counts")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  const auto done = assay::run(seconds, rounds);
  if (done) return 0;
  fmt::print(stderr, "transfer_rate: {}\n", done.error().text());
  return 3;
}
