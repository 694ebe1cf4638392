#include "firmware/serial/ymodem_sender.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "firmware/device/checksum.h"
#include "firmware/device/ymodem_protocol.h"

namespace assay::firmware {
namespace {

using namespace device::ymodem;

constexpr std::uint8_t padding = 0x1A;

constexpr std::size_t short_block = 128;
constexpr std::size_t long_block = 1024;
// A 'C' with something right behind it is a letter of a boot message.
constexpr std::int64_t invitation_quiet_ns = 30 * ns_per_ms;
// lrzsz's receiver throws away what it was sent in the moment of its ACK and 'C' for the header.
constexpr std::int64_t turnaround_ns = 30 * ns_per_ms;
// It does so behind each ACK, some ten microseconds later: a block that is there by then is lost
// and costs ten seconds. A wire takes its time for the ACK and for the first byte behind it, and
// `sb` waits no longer; a pseudo-terminal takes none.
constexpr std::int64_t behind_ack_ns = 200'000;
// Of 1024 bytes and their answer at 4 Mbaud, above all rates in use.
constexpr std::int64_t fastest_wire_block_ns = 2'500'000;
// All of so many were slow: there is a wire. Fewer may have met a busy receiver.
constexpr int blocks_that_tell = 8;
// lrzsz waits a second of silence behind an EOT.
constexpr std::int64_t end_timeout_ns = 4 * ns_per_s;
constexpr std::int64_t garbled_quiet_ns = ns_per_s;
constexpr std::int64_t write_timeout_ns = 20 * ns_per_s;

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c <= '~' && c != '/';
  });
}

class Sender {
 public:
  Sender(Transport& transport, const ModemOptions& options)
      : transport_(transport), options_(options) {
    const std::string& received = options.received;
    have_ = std::min(received.size(), buffer_.size());
    std::copy(received.end() - static_cast<std::ptrdiff_t>(have_), received.end(), buffer_.begin());
  }

  Result<> send(const std::string& name, std::span<const std::uint8_t> content) {
    if (auto invited = wait_for_invitation(options_.start_timeout_ns); !invited) return invited;
    if (options_.protocol == XyModem::ymodem) {
      std::string header = name;
      header += '\0';
      header += fmt::format("{} 0 0", content.size());
      if (auto sent = block(0, bytes_of(header), short_block, 0, true); !sent) return sent;
      // It asks again for the data; its ACK may have been lost in it.
      if (auto invited = wait_for_invitation(options_.answer_timeout_ns); !invited) {
        if (invited.error().kind != ErrorKind::timeout) return invited;
        // XMODEM's receivers take block 0 for the one before the first, which came once more.
        return error(ErrorKind::protocol,
                     "the receiver took the header and did not ask for the file");
      }
      if (auto quiet = drain(monotonic_ns() + turnaround_ns); !quiet) return quiet;
    }
    if (auto sent = data(content); !sent) return sent;
    return end();
  }

  void tell_cancelled() {
    std::array<std::uint8_t, 2 * cancel_bytes> bytes{};
    std::fill_n(bytes.begin(), cancel_bytes, can);
    std::fill_n(bytes.begin() + cancel_bytes, cancel_bytes, backspace);
    (void)transport_.write(bytes, monotonic_ns() + ns_per_s);
  }

 private:
  static std::span<const std::uint8_t> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
  }

  std::unexpected<Error> error(ErrorKind kind, std::string what) const {
    return fail(kind, std::move(what), transport_.name());
  }

  Result<> write(std::span<const std::uint8_t> bytes) {
    return transport_.write(bytes, monotonic_ns() + write_timeout_ns);
  }

  // One byte, in the slices that let a cancel through.
  Result<std::uint8_t> read_byte(std::int64_t deadline_ns) {
    for (;;) {
      if (have_ > at_) return buffer_[at_++];
      if (options_.cancel != nullptr && options_.cancel->cancelled()) {
        return error(ErrorKind::cancelled, "the transfer was cancelled");
      }
      const std::int64_t slice = std::min(deadline_ns, monotonic_ns() + cancel_interval_ns);
      const auto got = transport_.read(buffer_, slice);
      if (got) {
        at_ = 0;
        have_ = *got;
        continue;
      }
      if (got.error().kind != ErrorKind::timeout) return std::unexpected(got.error());
      if (monotonic_ns() >= deadline_ns) return std::unexpected(got.error());
    }
  }

  // Drops what comes until then.
  Result<> drain(std::int64_t deadline_ns) {
    for (int cancels = 0;;) {
      const auto byte = read_byte(deadline_ns);
      if (!byte && byte.error().kind == ErrorKind::timeout) return {};
      if (!byte) return std::unexpected(byte.error());
      cancels = *byte == can ? cancels + 1 : 0;
      if (cancels >= 2) return given_up();
      if (monotonic_ns() >= deadline_ns && at_ == have_) return {};
    }
  }

  Result<> wait_for_invitation(std::int64_t timeout_ns) {
    const auto asked = wait_for('C', 'C', timeout_ns);
    if (asked) return {};
    if (asked.error().kind != ErrorKind::timeout) return std::unexpected(asked.error());
    return error(ErrorKind::timeout, "the receiver did not ask for the file");
  }

  // One of two bytes with nothing right behind it: else it is a letter of something else.
  Result<std::uint8_t> wait_for(std::uint8_t one, std::uint8_t other, std::int64_t timeout_ns) {
    const std::int64_t deadline = monotonic_ns() + timeout_ns;
    int cancels = 0;
    std::uint8_t came = 0;
    for (;;) {
      const auto byte = read_byte(came != 0 ? monotonic_ns() + invitation_quiet_ns : deadline);
      if (!byte && byte.error().kind == ErrorKind::timeout && came != 0) return came;
      if (!byte) return std::unexpected(byte.error());
      cancels = *byte == can ? cancels + 1 : 0;
      if (cancels >= 2) return given_up();
      came = *byte == one || *byte == other ? *byte : 0;
      // It never falls silent.
      if (monotonic_ns() >= deadline) return error(ErrorKind::timeout, "nothing but noise");
    }
  }

  std::unexpected<Error> given_up() const {
    return error(ErrorKind::protocol, "the receiver gave up the transfer");
  }

  enum class Answer { taken, repeat };

  struct Expected {
    bool c_repeats = false;  // 'C' means "again": that is how U-Boot says NAK for a block of data
    std::int64_t after_ns = 0;  // an ACK before that answers something else
  };
  // Silence means "again" too: the block may not have come.
  Result<Answer> wait_for_answer(std::int64_t timeout_ns, const Expected& expected) {
    std::int64_t deadline = monotonic_ns() + timeout_ns;
    int cancels = 0;
    for (;;) {
      const auto byte = read_byte(deadline);
      if (!byte) {
        if (byte.error().kind == ErrorKind::timeout) return Answer::repeat;
        return std::unexpected(byte.error());
      }
      cancels = *byte == can ? cancels + 1 : 0;
      if (cancels >= 2) return given_up();
      if (*byte == ack && monotonic_ns() >= expected.after_ns) return Answer::taken;
      if (*byte == nak || (*byte == 'C' && expected.c_repeats)) return Answer::repeat;
      if (*byte == ack) continue;
      if (monotonic_ns() >= deadline) return Answer::repeat;
      // The answer was damaged, or a board that has booted meanwhile sends the block back.
      deadline = std::min(deadline, monotonic_ns() + garbled_quiet_ns);
    }
  }

  struct Patience {
    int tries;
    std::int64_t timeout_ns;
  };
  Result<> block(std::uint8_t number, std::span<const std::uint8_t> content, std::size_t size,
                 std::uint8_t fill, bool is_header) {
    return block(number, content, size, fill, is_header,
                 {options_.tries, options_.answer_timeout_ns});
  }
  Result<> block(std::uint8_t number, std::span<const std::uint8_t> content, std::size_t size,
                 std::uint8_t fill, bool is_header, const Patience& patience) {
    std::vector<std::uint8_t> bytes = {size == short_block ? soh : stx, number,
                                       static_cast<std::uint8_t>(~number)};
    bytes.insert(bytes.end(), content.begin(), content.end());
    bytes.resize(3 + size, fill);
    const std::uint16_t crc = device::crc16_xmodem(bytes.data() + 3, size);
    bytes.push_back(static_cast<std::uint8_t>(crc >> 8));
    bytes.push_back(static_cast<std::uint8_t>(crc));
    for (int attempt = 0; attempt < patience.tries; ++attempt) {
      const std::int64_t begin_ns = monotonic_ns();
      if (auto written = write(bytes); !written) return written;
      // One that was doubled on the way: the block cannot have gone over the wire yet.
      const bool known = size == long_block && has_wire();
      const auto answer = wait_for_answer(
          patience.timeout_ns,
          {.c_repeats = !is_header, .after_ns = known ? begin_ns + fastest_block_ns_ / 2 : 0});
      if (!answer) return std::unexpected(answer.error());
      if (*answer == Answer::taken) {
        if (size == long_block) {
          ++long_blocks_;
          fastest_block_ns_ = std::min(fastest_block_ns_, monotonic_ns() - begin_ns);
        }
        // Behind a header's comes the 'C' that is waited for.
        if (is_header || has_wire()) return {};
        return drain(monotonic_ns() + behind_ack_ns);
      }
    }
    return error(ErrorKind::protocol,
                 fmt::format("block {} was not taken in {} tries", number, patience.tries));
  }

  bool has_wire() const {
    return long_blocks_ >= blocks_that_tell && fastest_block_ns_ >= fastest_wire_block_ns;
  }

  Result<> data(std::span<const std::uint8_t> content) {
    std::uint8_t number = 1;
    for (std::size_t at = 0; at < content.size();) {
      const std::size_t left = content.size() - at;
      // The end in short blocks, when they are less than a long one.
      const std::size_t size = left > 4 * short_block ? long_block : short_block;
      const auto part = content.subspan(at, std::min(size, left));
      if (auto sent = block(number++, part, size, padding, false); !sent) return sent;
      at += part.size();
      if (options_.on_progress) options_.on_progress(at);
    }
    return {};
  }

  // The file is taken when its end was acknowledged. An ACK that was doubled on the way may stand
  // for the end's: a NAK behind it tells. Some receivers do not ask for the end of the batch, and
  // lrzsz's may throw its own last ACK away when it leaves.
  Result<> end() {
    const bool batch = options_.protocol == XyModem::ymodem;
    for (int attempt = 0; attempt < options_.tries; ++attempt) {
      if (auto dropped = drain(monotonic_ns() + behind_ack_ns); !dropped) return dropped;
      if (auto written = write(std::array{eot}); !written) return written;
      const auto answer = wait_for_answer(end_timeout_ns, {});
      if (!answer) return std::unexpected(answer.error());
      if (*answer != Answer::taken) continue;
      const auto next = wait_for(batch ? 'C' : nak, nak, batch ? 3 * ns_per_s : ns_per_s);
      if (next && *next == nak) continue;
      if (next) (void)block(0, {}, short_block, 0, true, {.tries = 2, .timeout_ns = ns_per_s});
      return {};
    }
    return error(ErrorKind::timeout, "the receiver did not take the end of the file");
  }

  Transport& transport_;
  const ModemOptions& options_;
  std::array<std::uint8_t, 256> buffer_{};
  std::size_t at_ = 0;
  std::size_t have_ = 0;
  int long_blocks_ = 0;
  std::int64_t fastest_block_ns_ = INT64_MAX;
};

}  // namespace

Result<> send_file(Transport& transport, const std::string& name,
                   std::span<const std::uint8_t> content, const ModemOptions& options) {
  if (!is_name(name)) {
    return fail(ErrorKind::usage, "\"" + name.substr(0, 40) + "\" is no name for a transfer", {},
                "1 to 100 printable characters without spaces and /");
  }
  if (content.size() > UINT32_MAX) return fail(ErrorKind::usage, "more than 4 GiB", name);
  Sender sender(transport, options);
  auto sent = sender.send(name, content);
  // So that it does not wait for the rest.
  if (!sent && sent.error().kind != ErrorKind::vanished) sender.tell_cancelled();
  return sent;
}

}  // namespace assay::firmware
