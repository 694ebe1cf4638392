#include "firmware/update/updater.h"

#include <fmt/core.h>

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
// A receiver's first 'C' may be lost on the line; lrzsz's asks again after 10 s, or 13.
constexpr std::int64_t start_timeout_ns = 15 * ns_per_s;

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
      : link_(open, {options.query, options.bauds, options.boot_timeout_ns, options.cancel}),
        image_(image),
        options_(options) {}

  Result<UpdateOutcome> run() {
    if (auto opened = link_.open(); !opened) return std::unexpected(opened.error());
    for (int attempt = 1;; ++attempt) {
      const auto done = attempt_update();
      if (done) return outcome_;
      if (!may_try_again(done.error()) || attempt >= options_.tries) {
        return std::unexpected(done.error());
      }
      ++outcome_.interruptions;
      note(fmt::format("the update broke off ({}); trying again", done.error().what));
      if (auto back = link_.come_back(); !back) return std::unexpected(back.error());
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
      return on_trial_ ? confirm() : Result<>();
    }
    if (auto sent = transfer(); !sent) return sent;
    if (auto up = reset(); !up) return up;
    return check_new_image();
  }

  Result<UpdateNeed> look_at_board() {
    const auto version = link_.find();
    if (!version) return std::unexpected(version.error());
    if (outcome_.from.empty()) outcome_.from = version->text;
    outcome_.to = version->text;
    AtClient client(link_.transport());
    if (options_.check_identity) {
      const auto right = options_.check_identity(client, link_.at());
      if (!right) return std::unexpected(right.error());
    }
    BoardState state{.version = version->version, .temperature_mc = std::nullopt};
    const auto boot = query_boot_state(client, link_.at());
    if (!boot) return std::unexpected(boot.error());
    on_trial_ = boot->on_trial;
    state.has_image = boot->slot.has_value();
    if (options_.board.temperature_limit_mc) {
      // A firmware that does not know the question is no reason to leave it as it is.
      const auto temperature = query_temperature(client, link_.at());
      if (!temperature) return std::unexpected(temperature.error());
      if (!*temperature) {
        note("the board does not tell its temperature, which is not held against the limit");
      }
      state.temperature_mc = *temperature;
    }
    return check_board(image_, state, options_.board);
  }

  Result<> transfer() {
    outcome_.baud = link_.baud();
    if (options_.transfer_baud != 0 && options_.transfer_baud != link_.baud()) {
      if (auto raised = change_rate(options_.transfer_baud); !raised) return raised;
    }
    outcome_.bytes = image_.bytes.size();
    report(UpdatePhase::transfer, 0, image_.bytes.size());
    const std::int64_t begin = monotonic_ns();
    auto sent = options_.protocol == UpdateProtocol::smp ? send_by_smp() : send_by_modem();
    outcome_.transfer_ns = monotonic_ns() - begin;
    // A reset brings the rate back; a board that is not reset would be lost to whoever asks at the
    // old rate.
    if (!sent && outcome_.baud != link_.baud() && sent.error().kind != ErrorKind::vanished) {
      lower_rate();
    }
    return sent;
  }

  // As far as it goes: what counts is why the transfer failed.
  void lower_rate() {
    AtClient client(link_.transport());
    // Not the token: also behind a cancel.
    (void)client.command(fmt::format("AT+IPR={}", link_.baud()),
                         {.timeout_ns = 300 * ns_per_ms, .tries = 2, .end_transfer = true});
    (void)link_.transport().set_baud(link_.baud());
  }

  Result<> send_by_smp() {
    SmpClient client(
        link_.transport(),
        {.timeout_ns = answer_timeout_ns, .tries = block_tries, .cancel = options_.cancel});
    if (auto sent = client.upload(
            image_.bytes,
            [&](std::uint64_t done) { report(UpdatePhase::transfer, done, image_.bytes.size()); });
        !sent) {
      return sent;
    }
    return client.test(image_.header.sha256);
  }

  Result<> send_by_modem() {
    AtClient client(link_.transport());
    if (auto begun = order(client, "AT+UPDATE", link_.at()); !begun) return begun;
    std::uint64_t acknowledged = 0;
    ModemOptions modem;
    modem.protocol = protocol_;
    modem.received = client.behind();
    modem.start_timeout_ns = start_timeout_ns;
    modem.answer_timeout_ns = answer_timeout_ns;
    modem.tries = block_tries;
    modem.cancel = options_.cancel;
    modem.on_progress = [&](std::uint64_t done) {
      acknowledged = done;
      report(UpdatePhase::transfer, done, image_.bytes.size());
    };
    const auto sent = send_file(link_.transport(), "firmware.bin", image_.bytes, modem);
    if (!sent && sent.error().kind == ErrorKind::vanished) return sent;
    if (!sent && sent.error().kind == ErrorKind::cancelled) return sent;
    // What the board made of it counts; the sender does not see why it was refused.
    AtClient after(link_.transport());
    const auto verdict = after.command("AT+UPDATE?", link_.at());
    if (!verdict) return sent ? std::unexpected(verdict.error()) : sent;
    const std::string word = verdict_in(*verdict);
    for (const Refusal& refusal : refusals) {
      if (word != refusal.word) continue;
      refused_ = true;
      return fail(refusal.kind, std::string("the board refused the image: ") + refusal.reason,
                  link_.port());
    }
    // The last ACK, for the end of the file, may be lost.
    if (word == "OK" && (sent || acknowledged == image_.bytes.size())) return {};
    // A receiver that cannot take the header of a batch: the older protocol has none. "NONE" is no
    // such receiver, but a board that has booted meanwhile. What looked like one may have been a
    // byte lost, so it goes back as well.
    if (!sent && acknowledged == 0 && sent.error().kind == ErrorKind::protocol && word != "NONE") {
      protocol_ = protocol_ == XyModem::ymodem ? XyModem::xmodem_1k : XyModem::ymodem;
    }
    if (!sent) return sent;
    return fail(ErrorKind::timeout, "the board did not take the image: " + word, link_.port());
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
    AtClient client(link_.transport());
    const auto reply = client.command(fmt::format("AT+IPR={}", baud), link_.at());
    if (!reply) return std::unexpected(reply.error());
    if (!reply->ok) {
      note(fmt::format("the board does not go to {} baud; staying at {}", baud, link_.baud()));
      return {};
    }
    if (auto set = link_.transport().set_baud(baud); !set) return set;
    AtClient fast(link_.transport());
    if (const auto heard = fast.command("AT", link_.at()); heard && heard->ok) {
      outcome_.baud = baud;
      return {};
    }
    note(fmt::format("the board cannot be heard at {} baud", baud));
    options_.transfer_baud = 0;
    const auto found = link_.find();
    return found ? Result<>() : std::unexpected(found.error());
  }

  Result<> reset() {
    report(UpdatePhase::reset, 0, 0);
    const auto version = link_.reset();
    return version ? Result<>() : std::unexpected(version.error());
  }

  Result<> check_new_image() {
    AtClient client(link_.transport());
    const auto version = client.query_version(options_.query, link_.at());
    if (!version) return std::unexpected(version.error());
    if (version->version != image_.version) {
      return fail(ErrorKind::timeout,
                  fmt::format("the board was reset and runs {}, not {}", version->text,
                              image_.version.text()),
                  link_.port());
    }
    outcome_.to = version->text;
    return confirm();
  }

  // It answers, and with the new version: that is what the trial was for.
  Result<> confirm() {
    report(UpdatePhase::confirm, 0, 0);
    AtClient client(link_.transport());
    if (auto confirmed = order(client, "AT+CONFIRM", link_.at()); !confirmed) return confirmed;
    const auto state = query_boot_state(client, link_.at());
    if (!state) return std::unexpected(state.error());
    if (!state->on_trial && state->slot) return {};
    return fail(ErrorKind::protocol, "the board did not keep the new image", link_.port());
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

  BoardLink link_;
  const FirmwareImage& image_;
  UpdateOptions options_;
  UpdateOutcome outcome_;
  XyModem protocol_ = XyModem::ymodem;
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
