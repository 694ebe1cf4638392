#include "firmware/usb/dfu_client.h"

#include <fmt/core.h>

#include <algorithm>

#include "firmware/device/bytes.h"
#include "firmware/usb/dfu_text.h"

namespace assay::firmware {
namespace {

constexpr std::uint16_t least_transfer_bytes = 8;
constexpr std::uint16_t dfuse = 0x011A;
// From any state it takes two: out of an error that a first request was, then a transfer's.
constexpr int most_steps_to_idle = 4;

bool gone(const Error& error) {
  return error.kind == ErrorKind::vanished || error.kind == ErrorKind::io ||
         error.kind == ErrorKind::timeout;
}

}  // namespace

Result<DfuFunctional> find_dfu_functional(std::span<const std::uint8_t> descriptors,
                                          const std::string& name) {
  for (auto rest = descriptors; rest.size() >= 2;) {
    const std::size_t length = rest[0];
    if (length < 2 || length > rest.size()) break;
    if (rest[1] != device::dfu_functional_type) {
      rest = rest.subspan(length);
      continue;
    }
    // DFU 1.0 has no version in it.
    if (length < device::dfu_functional_bytes - 2) break;
    const DfuFunctional found{
        .can_download = (rest[2] & device::dfu_can_download) != 0,
        .can_upload = (rest[2] & device::dfu_can_upload) != 0,
        .manifestation_tolerant = (rest[2] & device::dfu_manifestation_tolerant) != 0,
        .will_detach = (rest[2] & device::dfu_will_detach) != 0,
        .detach_timeout_ms = device::get16(&rest[3]),
        .transfer_bytes = device::get16(&rest[5]),
        .version = length >= device::dfu_functional_bytes ? device::get16(&rest[7])
                                                          : std::uint16_t{0x0100}};
    if (found.version == dfuse) {
      return fail(ErrorKind::protocol, "speaks ST's DfuSe, which is another protocol than DFU 1.1",
                  name, "use `dfu-util` with an address (-s)");
    }
    if (found.transfer_bytes < least_transfer_bytes) {
      return fail(ErrorKind::protocol,
                  fmt::format("says that it takes {} bytes at a time", found.transfer_bytes), name,
                  "its DFU descriptor is wrong: update the boot loader by another way");
    }
    return found;
  }
  return fail(ErrorKind::protocol, "has no DFU functional descriptor that can be read", name,
              "power-cycle the board; when that does not help its boot loader is damaged");
}

std::uint16_t DfuClient::block_bytes() const {
  return std::min(functional_.transfer_bytes, most_block_bytes);
}

Result<DfuClient::Status> DfuClient::get_status() {
  const auto reply = control_.control_in(DfuRequest::get_status, 0, device::dfu_status_bytes);
  if (!reply) return std::unexpected(reply.error());
  const auto& bytes = *reply;
  if (bytes.size() < device::dfu_status_bytes || bytes[4] > static_cast<int>(DfuState::error)) {
    return fail(ErrorKind::protocol, "its status makes no sense", control_.name(),
                "power-cycle the board and try once more");
  }
  return Status{static_cast<DfuStatus>(bytes[0]), device::get32(&bytes[1]) & 0xFF'FFFF,
                static_cast<DfuState>(bytes[4]), bytes[5]};
}

// An error that the status tells of.
Result<> DfuClient::check(const Status& status, const std::string& doing) {
  if (status.status == DfuStatus::ok && status.state != DfuState::error) return {};
  std::string reason;
  if (status.string != 0) reason = control_.string(status.string).value_or("");
  return status_failure(status.status, doing, reason, control_.name());
}

// A request failed. Behind a stall the status says why.
std::unexpected<Error> DfuClient::refused(const Error& error, const std::string& doing) {
  if (error.kind != ErrorKind::protocol) {
    Error with_place = error;
    with_place.what = doing + ": " + error.what;
    return std::unexpected(with_place);
  }
  const auto status = get_status();
  if (!status) return std::unexpected(gone(status.error()) ? status.error() : error);
  if (auto checked = check(*status, doing); !checked) return std::unexpected(checked.error());
  return status_failure(DfuStatus::stalled_packet, doing, "", control_.name());
}

std::unexpected<Error> DfuClient::misplaced(DfuState state, const std::string& doing) const {
  return fail(ErrorKind::protocol, fmt::format("{}: it is in {}", doing, name_of(state)),
              control_.name(),
              "power-cycle the board and try once more; let no other program talk to it meanwhile");
}

std::unexpected<Error> DfuClient::cancelled() {
  (void)control_.control_out(DfuRequest::abort, 0, {});
  return fail(ErrorKind::cancelled, "the transfer was cancelled", control_.name());
}

// At least a millisecond, or a device that says 0 would be asked for ever.
Result<> DfuClient::pause(std::uint32_t poll_ms, const DfuOptions& options, std::int64_t* waited_ns,
                          const std::string& doing) {
  std::int64_t left = std::max<std::int64_t>(poll_ms, 1) * ns_per_ms;
  *waited_ns += left;
  if (*waited_ns > options.busy_timeout_ns) {
    return fail(ErrorKind::timeout,
                fmt::format("{}: it wants to be waited for for more than {} s", doing,
                            options.busy_timeout_ns / ns_per_s),
                control_.name(), "power-cycle the board and try once more");
  }
  while (left > 0) {
    if (options.cancel != nullptr && options.cancel->cancelled()) return cancelled();
    const std::int64_t slice = std::min(left, cancel_interval_ns);
    control_.wait(slice);
    left -= slice;
  }
  return {};
}

Result<> DfuClient::make_idle(const DfuOptions& options) {
  const std::string doing = "making it ready";
  std::int64_t waited_ns = 0;
  for (int steps = 0; steps < most_steps_to_idle;) {
    const auto status = get_status();
    // A request at the wrong time, which an earlier program's last one may have made of this one.
    if (!status && status.error().kind == ErrorKind::protocol && ++steps < most_steps_to_idle) {
      continue;
    }
    if (!status) return std::unexpected(status.error());
    Result<> step;
    switch (status->state) {
      case DfuState::dfu_idle:
        return {};
      case DfuState::app_idle:
      case DfuState::app_detach:
        return fail(ErrorKind::usage, "runs its firmware and is not in DFU mode", control_.name(),
                    "detach it first");
      case DfuState::manifest_wait_reset:
        return fail(ErrorKind::usage, "an update is over and it waits for a reset", control_.name(),
                    "reset or power-cycle the board");
      case DfuState::download_busy:
      case DfuState::manifest:
        step = pause(status->poll_ms, options, &waited_ns, doing);
        if (!step) return step;
        continue;
      case DfuState::error:
        step = control_.control_out(DfuRequest::clear_status, 0, {});
        break;
      case DfuState::download_sync:
      case DfuState::manifest_sync:
      case DfuState::download_idle:
      case DfuState::upload_idle:
        step = control_.control_out(DfuRequest::abort, 0, {});
        break;
    }
    ++steps;
    if (!step && step.error().kind != ErrorKind::protocol) return step;
  }
  return fail(ErrorKind::protocol, "does not get out of its error", control_.name(),
              "power-cycle the board and try once more");
}

Result<> DfuClient::wait_for_block(const DfuOptions& options, const std::string& doing) {
  std::int64_t waited_ns = 0;
  for (;;) {
    const auto status = get_status();
    if (!status) return refused(status.error(), doing);
    if (auto checked = check(*status, doing); !checked) return checked;
    if (status->state == DfuState::download_idle) return {};
    if (status->state != DfuState::download_busy && status->state != DfuState::download_sync) {
      return misplaced(status->state, doing);
    }
    if (auto paused = pause(status->poll_ms, options, &waited_ns, doing); !paused) return paused;
  }
}

Result<DfuEnd> DfuClient::download(std::span<const std::uint8_t> image, const DfuOptions& options) {
  if (!functional_.can_download) {
    return fail(ErrorKind::usage, "does not take firmware over DFU", control_.name());
  }
  if (image.empty()) return fail(ErrorKind::usage, "the image is empty", control_.name());
  if (auto idle = make_idle(options); !idle) return std::unexpected(idle.error());
  std::uint16_t number = 0;  // wraps from 65535 to 0
  for (std::size_t at = 0; at < image.size();) {
    if (options.cancel != nullptr && options.cancel->cancelled()) return cancelled();
    const auto block = image.subspan(at, std::min<std::size_t>(block_bytes(), image.size() - at));
    const std::string doing = fmt::format("writing byte {} of {}", at, image.size());
    if (auto sent = control_.control_out(DfuRequest::download, number++, block); !sent) {
      return refused(sent.error(), doing);
    }
    if (auto taken = wait_for_block(options, doing); !taken) return std::unexpected(taken.error());
    at += block.size();
    if (options.on_progress) options.on_progress(at);
  }
  if (auto sent = control_.control_out(DfuRequest::download, number, {}); !sent) {
    return refused(sent.error(), "ending the update");
  }
  return manifest(options);
}

// From here on the device may go away, or not answer until it is reset.
Result<DfuEnd> DfuClient::manifest(const DfuOptions& options) {
  const std::string doing = "ending the update";
  std::int64_t waited_ns = 0;
  bool manifesting = false;
  for (;;) {
    const auto status = get_status();
    // One that cannot talk any more waits for the reset.
    const bool mute = !status && (status.error().kind == ErrorKind::timeout ||
                                  (status.error().kind == ErrorKind::protocol && manifesting));
    if (mute && !functional_.manifestation_tolerant) return DfuEnd::needs_reset;
    if (!status && gone(status.error())) return DfuEnd::vanished;
    if (!status) return refused(status.error(), doing);
    if (auto checked = check(*status, doing); !checked) return std::unexpected(checked.error());
    switch (status->state) {
      case DfuState::dfu_idle:
      case DfuState::app_idle:
        return DfuEnd::ready;
      case DfuState::manifest_wait_reset:
        return DfuEnd::needs_reset;
      case DfuState::manifest_sync:
      case DfuState::manifest:
        manifesting = true;
        break;
      default:
        return misplaced(status->state, doing);
    }
    if (auto paused = pause(status->poll_ms, options, &waited_ns, doing); !paused) {
      return std::unexpected(paused.error());
    }
  }
}

Result<std::vector<std::uint8_t>> DfuClient::upload(std::size_t most_bytes,
                                                    const DfuOptions& options) {
  if (!functional_.can_upload) {
    return fail(ErrorKind::usage, "does not give its firmware over DFU", control_.name());
  }
  if (auto idle = make_idle(options); !idle) return std::unexpected(idle.error());
  std::vector<std::uint8_t> image;
  for (std::uint16_t number = 0;; ++number) {
    if (options.cancel != nullptr && options.cancel->cancelled()) return cancelled();
    const auto block = control_.control_in(DfuRequest::upload, number, block_bytes());
    if (!block) return refused(block.error(), fmt::format("reading byte {}", image.size()));
    if (block->size() > most_bytes - image.size()) {
      (void)control_.control_out(DfuRequest::abort, 0, {});
      return fail(ErrorKind::exhausted,
                  fmt::format("its firmware is longer than {} bytes", most_bytes), control_.name());
    }
    image.insert(image.end(), block->begin(), block->end());
    if (options.on_progress) options.on_progress(image.size());
    if (block->size() < block_bytes()) return image;
  }
}

Result<> DfuClient::detach() {
  const auto sent = control_.control_out(DfuRequest::detach, functional_.detach_timeout_ms, {});
  // One that leaves the bus at once does not always get its answer out.
  if (!sent && !gone(sent.error())) return refused(sent.error(), "asking it into DFU mode");
  if (functional_.will_detach) return {};
  return control_.reset();
}

}  // namespace assay::firmware
