#include "firmware/update/updater.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>

#include "firmware/serial/at_client.h"
#include "firmware/serial/smp_client.h"
#include "firmware/serial/ymodem_sender.h"
#include "firmware/update/board_client.h"

namespace assay::firmware {
namespace {

// Longer than a NOR chip takes for a sector (2 s at worst), short enough that a board which lost
// its power is noticed.
constexpr std::int64_t answer_timeout_ns = 3 * ns_per_s;
constexpr int block_tries = 3;
constexpr std::int64_t start_timeout_ns = 10 * ns_per_s;
constexpr int reopen_interval_ms = 100;

// What the board itself says of an image that it does not take (AT+UPDATE? in
// device/npu_firmware.h); it would say the same again.
struct Refusal {
  std::string_view word;
  ErrorKind kind;
  const char* reason;
};
constexpr Refusal refusals[] = {
    {"HEADER", ErrorKind::usage, "its header is not one that this firmware knows"},
    {"BOARD", ErrorKind::usage, "it is for another board"},
    {"ROLLBACK", ErrorKind::usage, "its security counter is below that of the running image"},
    {"SIZE", ErrorKind::usage, "it does not fit the slot"},
    {"FLASH", ErrorKind::protocol, "the flash chip reports an error"},
};

class Updater {
 public:
  Updater(const OpenPort& open, const FirmwareImage& image, const UpdateOptions& options)
      : open_(open), image_(image), options_(options) {
    at_.cancel = options.cancel;
  }

  Result<UpdateOutcome> run() {
    if (auto opened = open_port(); !opened) return std::unexpected(opened.error());
    for (int attempt = 1;; ++attempt) {
      const auto done = attempt_update();
      if (done) return outcome_;
      if (!may_try_again(done.error()) || attempt >= options_.tries) {
        return std::unexpected(done.error());
      }
      ++outcome_.interruptions;
      note(fmt::format("the update broke off ({}); trying again", done.error().what));
      if (auto back = come_back(); !back) return std::unexpected(back.error());
    }
  }

 private:
  Result<> attempt_update() {
    report(UpdatePhase::ask, 0, 0);
    auto need = look_at_board();
    if (need && *need == UpdateNeed::update && on_trial_) {
      // An image that nobody confirmed: its slot is not free before the board has gone back.
      note("the board runs an image on trial; it is reset and goes back to the one before");
      if (auto back = reset(); !back) return back;
      need = look_at_board();
    }
    if (!need) return std::unexpected(need.error());
    if (*need == UpdateNeed::same_version) {
      // Also the end of an update that was cut off between reset and confirm.
      outcome_.same_version = outcome_.interruptions == 0 && !on_trial_;
      outcome_.to = image_.version.text();
      return on_trial_ ? confirm() : Result<>();
    }
    if (auto sent = transfer(); !sent) return sent;
    if (auto up = reset(); !up) return up;
    return check_new_image();
  }

  Result<> open_port() {
    auto opened = open_();
    if (!opened) return std::unexpected(opened.error());
    transport_ = std::move(*opened);
    return {};
  }

  // Finds the rate, and asks what runs.
  Result<UpdateNeed> look_at_board() {
    const auto version = find_board(at_);
    if (!version) return std::unexpected(version.error());
    if (outcome_.from.empty()) outcome_.from = version->text;
    AtClient client(*transport_);
    BoardState state{version->version, std::nullopt};
    const auto boot = query_boot_state(client, at_);
    if (!boot) return std::unexpected(boot.error());
    on_trial_ = boot->on_trial;
    if (options_.board.temperature_limit_mc) {
      // A firmware that does not know the question is no reason to leave it as it is.
      if (const auto t = query_temperature(client, at_)) {
        state.temperature_mc = *t;
      } else if (t.error().kind != ErrorKind::protocol) {
        return std::unexpected(t.error());
      }
    }
    return check_board(image_, state, options_.board);
  }

  // Each rate once, then each again: a board at the last one of the list is found soon.
  Result<FirmwareVersion> find_board(const AtOptions& options) {
    AtOptions once = options;
    once.tries = 1;
    for (int round = 1;; ++round) {
      auto version = query_version_at_bauds(*transport_, options_.bauds, options_.query, once);
      if (version) baud_ = version->baud;
      const bool silent = !version && (version.error().kind == ErrorKind::timeout ||
                                       version.error().kind == ErrorKind::protocol);
      if (!silent || round >= options.tries) return version;
    }
  }

  Result<> transfer() {
    outcome_.baud = baud_;
    if (options_.transfer_baud != 0 && options_.transfer_baud != baud_) {
      if (auto raised = change_rate(options_.transfer_baud); !raised) return raised;
    }
    outcome_.bytes = image_.bytes.size();
    report(UpdatePhase::transfer, 0, image_.bytes.size());
    const std::int64_t begin = monotonic_ns();
    auto sent = options_.protocol == UpdateProtocol::smp ? send_by_smp() : send_by_modem();
    outcome_.transfer_ns = monotonic_ns() - begin;
    return sent;
  }

  Result<> send_by_smp() {
    SmpClient client(
        *transport_,
        {.timeout_ns = answer_timeout_ns, .tries = block_tries, .cancel = options_.cancel});
    if (auto sent = client.upload(
            image_.bytes, image_.header.sha256,
            [&](std::uint64_t done) { report(UpdatePhase::transfer, done, image_.bytes.size()); });
        !sent) {
      return sent;
    }
    return client.test(image_.header.sha256);
  }

  Result<> send_by_modem() {
    AtClient client(*transport_);
    if (auto begun = order(client, "AT+UPDATE", at_); !begun) return begun;
    std::uint64_t acknowledged = 0;
    ModemOptions modem;
    modem.protocol = protocol_;
    modem.start_timeout_ns = start_timeout_ns;
    modem.answer_timeout_ns = answer_timeout_ns;
    modem.tries = block_tries;
    modem.cancel = options_.cancel;
    modem.on_progress = [&](std::uint64_t done) {
      acknowledged = done;
      report(UpdatePhase::transfer, done, image_.bytes.size());
    };
    const auto sent = send_file(*transport_, "firmware.bin", image_.bytes, modem);
    if (!sent && sent.error().kind == ErrorKind::vanished) return sent;
    if (!sent && sent.error().kind == ErrorKind::cancelled) return sent;
    // What the board made of it counts; the sender does not see why it was refused.
    AtClient after(*transport_);
    const auto verdict = after.command("AT+UPDATE?", at_);
    if (!verdict) return sent ? std::unexpected(verdict.error()) : sent;
    const std::string word = verdict_in(*verdict);
    for (const Refusal& refusal : refusals) {
      if (word != refusal.word) continue;
      refused_ = true;
      return fail(refusal.kind, std::string("the board refused the image: ") + refusal.reason,
                  transport_->name());
    }
    // A receiver that cannot take the header of a batch: the older protocol has none. "NONE" is no
    // such receiver, but a board that has booted meanwhile.
    if (!sent && acknowledged == 0 && sent.error().kind == ErrorKind::protocol && word != "NONE") {
      protocol_ = XyModem::xmodem_1k;
    }
    if (!sent) return sent;
    if (word == "OK") return {};
    return fail(ErrorKind::timeout, "the board did not take the image: " + word,
                transport_->name());
  }

  static std::string verdict_in(const AtReply& reply) {
    constexpr std::string_view key = "UPDATE:";
    for (auto line = reply.lines.rbegin(); line != reply.lines.rend(); ++line) {
      if (line->starts_with(key)) return line->substr(key.size(), 32);
    }
    return "no answer";
  }

  // V.250's +IPR: the OK comes at the old rate. A board that does not know the command, or cannot
  // be heard at the new rate, is spoken to at the old one.
  Result<> change_rate(int baud) {
    AtClient client(*transport_);
    const auto reply = client.command(fmt::format("AT+IPR={}", baud), at_);
    if (!reply) return std::unexpected(reply.error());
    if (!reply->ok) {
      note(fmt::format("the board does not go to {} baud; staying at {}", baud, baud_));
      return {};
    }
    if (auto set = transport_->set_baud(baud); !set) return set;
    AtClient fast(*transport_);
    if (const auto heard = fast.command("AT", at_); heard && heard->ok) {
      outcome_.baud = baud;
      return {};
    }
    note(fmt::format("the board cannot be heard at {} baud", baud));
    options_.transfer_baud = 0;
    const auto found = find_board(at_);
    return found ? Result<>() : std::unexpected(found.error());
  }

  // Returns when the board is up again.
  Result<> reset() {
    report(UpdatePhase::reset, 0, 0);
    AtClient client(*transport_);
    if (auto ordered = order(client, "AT+RESET", at_); !ordered) return ordered;
    return come_back();
  }

  // The port may go away with the board's power, and the rate is that of a fresh boot.
  Result<> come_back() {
    const std::int64_t deadline = monotonic_ns() + options_.boot_timeout_ns;
    std::optional<Error> last;
    while (monotonic_ns() < deadline || !last) {
      if (options_.cancel != nullptr && options_.cancel->cancelled()) {
        return fail(ErrorKind::cancelled, "cancelled while the board came up", "",
                    "power-cycle it: it runs its old firmware");
      }
      if (!transport_) {
        if (auto opened = open_port(); !opened) {
          last = opened.error();
          // Nothing tells that a port is there again.
          (void)poll(nullptr, 0, reopen_interval_ms);
          continue;
        }
      }
      AtOptions once = at_;
      once.tries = 1;
      const auto version = find_board(once);
      if (version) return {};
      last = version.error();
      if (last->kind == ErrorKind::cancelled) return std::unexpected(*last);
      if (last->kind == ErrorKind::vanished) transport_.reset();
    }
    return std::unexpected(*last);
  }

  Result<> check_new_image() {
    AtClient client(*transport_);
    const auto version = client.query_version(options_.query, at_);
    if (!version) return std::unexpected(version.error());
    if (version->version != image_.version) {
      return fail(ErrorKind::timeout,
                  fmt::format("the board was reset and runs {}, not {}", version->text,
                              image_.version.text()),
                  transport_->name());
    }
    outcome_.to = version->text;
    return confirm();
  }

  // It answers, and with the new version: that is what the trial was for.
  Result<> confirm() {
    report(UpdatePhase::confirm, 0, 0);
    AtClient client(*transport_);
    if (auto confirmed = order(client, "AT+CONFIRM", at_); !confirmed) return confirmed;
    const auto state = query_boot_state(client, at_);
    if (!state) return std::unexpected(state.error());
    if (!state->on_trial) return {};
    return fail(ErrorKind::protocol, "the board did not keep the new image", transport_->name());
  }

  bool may_try_again(const Error& error) const {
    // A board that never answered is not there.
    if (refused_ || outcome_.from.empty()) return false;
    return error.kind == ErrorKind::timeout || error.kind == ErrorKind::protocol ||
           error.kind == ErrorKind::vanished;
  }

  void report(UpdatePhase phase, std::uint64_t done, std::uint64_t total) const {
    if (options_.on_progress) options_.on_progress(phase, done, total);
  }
  void note(const std::string& text) const {
    if (options_.on_note) options_.on_note(text);
  }

  const OpenPort& open_;
  const FirmwareImage& image_;
  UpdateOptions options_;
  AtOptions at_;
  std::unique_ptr<Transport> transport_;
  UpdateOutcome outcome_;
  XyModem protocol_ = XyModem::ymodem;
  int baud_ = 0;
  bool on_trial_ = false;
  bool refused_ = false;
};

}  // namespace

const char* to_text(UpdatePhase phase) {
  static constexpr const char* texts[] = {"asking the board", "sending", "waiting for the board",
                                          "confirming"};
  return texts[static_cast<int>(phase)];
}

Result<UpdateOutcome> update_board(const OpenPort& open, const FirmwareImage& image,
                                   const UpdateOptions& options) {
  if (auto fits = check_image(image, options.image); !fits) return std::unexpected(fits.error());
  return Updater(open, image, options).run();
}

}  // namespace assay::firmware
