#include "firmware/update/board_link.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "firmware/update/board_client.h"

namespace assay::firmware {
namespace {

constexpr int reopen_interval_ms = 100;

}  // namespace

BoardLink::BoardLink(OpenPort open, LinkOptions options)
    : open_(std::move(open)), options_(std::move(options)) {
  at_.cancel = options_.cancel;
}

Result<> BoardLink::open() {
  auto opened = open_();
  if (!opened) return std::unexpected(opened.error());
  transport_ = std::move(*opened);
  port_ = transport_->name();
  return {};
}

Result<FirmwareVersion> BoardLink::find(const AtOptions& options) {
  AtOptions once = options;
  once.tries = 1;
  std::optional<Error> best;
  const int rounds = std::max(options.tries, 1);
  for (int round = 1; round <= rounds; ++round) {
    once.end_transfer = options.end_transfer || round > 1;
    auto version = query_version_at_bauds(*transport_, options_.bauds, options_.query, once);
    if (version) baud_ = version->baud;
    if (version || !is_no_answer(version.error())) return version;
    if (!best || says_more(version.error(), *best)) best = version.error();
  }
  if (best->kind == ErrorKind::timeout) {
    best->what = fmt::format("no answer to {} in {} {}{} (0 bytes received)", options_.query,
                             rounds, rounds == 1 ? "try" : "tries",
                             options_.bauds.size() == 1 ? "" : " at each rate");
  }
  return std::unexpected(*best);
}

Result<FirmwareVersion> BoardLink::reset() {
  AtClient client(*transport_);
  // Once: a second one, when the first one's OK was lost, would end the trial of a new image.
  AtOptions once = at_;
  once.tries = 1;
  const auto ordered = order(client, "AT+RESET", once);
  if (!ordered && ordered.error().kind == ErrorKind::cancelled) {
    return std::unexpected(ordered.error());
  }
  return come_back();
}

Result<FirmwareVersion> BoardLink::come_back() {
  const std::int64_t deadline = monotonic_ns() + options_.boot_timeout_ns;
  AtOptions once = at_;
  once.tries = 1;
  once.end_transfer = true;
  std::optional<Error> last;
  while (monotonic_ns() < deadline || !last) {
    if (options_.cancel != nullptr && options_.cancel->cancelled()) {
      return fail(ErrorKind::cancelled, "cancelled while the board came up", port_,
                  "power-cycle it, and ask for its version");
    }
    if (!transport_) {
      if (auto opened = open(); !opened) {
        last = opened.error();
        // Nothing tells that a port is there again.
        (void)poll(nullptr, 0, reopen_interval_ms);
        continue;
      }
    }
    auto version = find(once);
    if (version) return version;
    last = version.error();
    if (last->kind == ErrorKind::cancelled) return std::unexpected(*last);
    if (last->kind == ErrorKind::vanished) transport_.reset();
  }
  if (last->kind == ErrorKind::timeout) {
    last->what = fmt::format("no answer to {} in {} s", options_.query,
                             std::max<std::int64_t>(options_.boot_timeout_ns / ns_per_s, 1));
  }
  return std::unexpected(*last);
}

}  // namespace assay::firmware
