// The host's end of USB DFU 1.1: takes a device through its states. Knows nothing of libusb.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/result.h"
#include "firmware/usb/dfu_control.h"

namespace assay::firmware {

// The functional descriptor (DFU 1.1, 4.1.3).
struct DfuFunctional {
  bool can_download = false;
  bool can_upload = false;
  bool manifestation_tolerant = false;
  bool will_detach = false;
  std::uint16_t detach_timeout_ms = 0;
  std::uint16_t transfer_bytes = 0;
  std::uint16_t version = 0;  // bcdDFU
};

// Finds it among class descriptors (as libusb has them behind an interface: length, type, ...).
// ErrorKind::protocol, `where` being `name`: there is none, it is cut off, its transfer size is
// less than 8 bytes (the smallest packet of endpoint 0), or it is ST's DfuSe (bcdDFU 0x011A).
Result<DfuFunctional> find_dfu_functional(std::span<const std::uint8_t> descriptors,
                                          const std::string& name);

struct DfuOptions {
  // How long the device may be busy with one block, or with the end of an update.
  std::int64_t busy_timeout_ns = 60 * ns_per_s;
  const CancelToken* cancel = nullptr;  // looked at each 50 ms; a transfer is aborted
  // Bytes that the device has taken, or given.
  std::function<void(std::uint64_t bytes)> on_progress;
};

// How an update ended. None is a failure: whether the new firmware runs is seen when the device is
// back.
enum class DfuEnd {
  ready,        // in dfuIDLE: takes more
  needs_reset,  // waits for a reset of the bus
  vanished,     // went away by itself
};

// Errors of all calls, beside those of DfuControl and status_failure():
//   usage      the device is not in DFU mode, or cannot do this; an empty image
//   timeout    it was busy for too long
//   protocol   an answer that is none, a state that has no place there
//   cancelled  options.cancel said so
class DfuClient {
 public:
  // Linux's usbfs takes no more in one control transfer.
  static constexpr std::uint16_t most_block_bytes = 4096;

  // The control outlives the client.
  DfuClient(DfuControl& control, const DfuFunctional& functional)
      : control_(control), functional_(functional) {}

  // Into dfuIDLE from whatever an earlier program left behind: an error, half a transfer.
  Result<> make_idle(const DfuOptions& options = {});

  // Writes a whole image (without DFU suffix).
  Result<DfuEnd> download(std::span<const std::uint8_t> image, const DfuOptions& options = {});

  // Reads the firmware. ErrorKind::exhausted when it is more than `most_bytes`.
  Result<std::vector<std::uint8_t>> upload(std::size_t most_bytes, const DfuOptions& options = {});

  // Out of run-time mode; the device leaves the bus, now or within the reset, and comes back.
  Result<> detach();

 private:
  struct Status {
    DfuStatus status;
    std::uint32_t poll_ms;
    DfuState state;
    std::uint8_t string;
  };

  Result<Status> get_status();
  Result<> check(const Status& status, const std::string& doing);
  std::unexpected<Error> refused(const Error& error, const std::string& doing);
  std::unexpected<Error> misplaced(DfuState state, const std::string& doing) const;
  std::unexpected<Error> cancelled();
  Result<> pause(std::uint32_t poll_ms, const DfuOptions& options, std::int64_t* waited_ns,
                 const std::string& doing);
  Result<> wait_for_block(const DfuOptions& options, const std::string& doing);
  Result<DfuEnd> manifest(const DfuOptions& options);
  std::uint16_t block_bytes() const;

  DfuControl& control_;
  DfuFunctional functional_;
};

}  // namespace assay::firmware
