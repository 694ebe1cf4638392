// Two slots for firmware images: one runs, the other one is written. A new image is booted once on
// trial; confirmed, it becomes the one that runs; otherwise the next boot goes back to the old one.
// At no time is the only good image touched.
//
// Freestanding. Not thread-safe.
#pragma once

#include <cstdint>

#include "firmware/device/boot_record.h"
#include "firmware/device/flash.h"
#include "firmware/device/image_header.h"

namespace assay::firmware::device {

enum class UpdateError : std::uint8_t {
  none,
  flash,     // the chip failed
  header,    // no image, or a damaged one
  board,     // for another board
  rollback,  // its security counter is below that of the running image
  size,      // does not fit, or other bytes came than the header says
  hash,      // the payload is not what the header says
  state,     // no update has begun, or the running image is on trial: the other one is the only
             // good one, and is not touched before this one is confirmed
};
const char* to_text(UpdateError error);

class Slots {
 public:
  Slots(const Flash& flash, const FlashLayout& layout, const char* board)
      : flash_(flash), layout_(layout), board_(board) {}

  // At power-on: decides which slot runs, and notes it. no_slot when none holds a whole image of
  // this board: the chip waits for one.
  std::uint8_t boot();
  std::uint8_t running() const { return running_; }
  // The running image is on trial.
  bool on_trial() const { return on_trial_; }
  // The last boot went back from an image that was not confirmed.
  bool reverted() const { return reverted_; }

  // Whether the slot holds a whole image of this board.
  bool image_in(std::uint8_t slot, ImageHeader* header) const;
  // Bytes of a slot; false when the chip failed, or beyond the slot.
  bool read(std::uint8_t slot, std::uint32_t offset, std::uint8_t* out, std::uint32_t size) const;

  // Not while the running image is on trial and the other one is what it would go back to.
  bool may_update() const;
  // An update: begin, the file's bytes in any pieces, finish. An error ends it.
  UpdateError begin_update();
  UpdateError write(const std::uint8_t* bytes, std::uint32_t size);
  UpdateError finish_update();
  // Whether an update goes on and has all the bytes that its header announced.
  bool has_all() const {
    return updating_ && received_ >= image_header_bytes && received_ == header_.total_bytes();
  }

  // An update has begun and has not ended; the bytes of it that came.
  bool updating() const { return updating_; }
  // Of the update that began last: who began another one finds his own ended.
  std::uint32_t update_number() const { return updates_; }
  std::uint32_t received() const { return received_; }
  // The slot that the next boot tries; no_slot: none.
  std::uint8_t pending() const;

  // Keeps the image that is on trial.
  bool confirm();

 private:
  UpdateError fail(UpdateError error);
  UpdateError take_header();
  UpdateError program_pending();

  Flash flash_;
  FlashLayout layout_;
  const char* board_;
  std::uint8_t running_ = no_slot;
  bool on_trial_ = false;
  bool reverted_ = false;

  bool updating_ = false;
  std::uint32_t updates_ = 0;
  std::uint8_t target_ = no_slot;
  std::uint32_t received_ = 0;
  std::uint32_t erased_to_ = 0;  // bytes of the slot that are erased
  ImageHeader header_;
  // What is not yet programmed: flash is written in whole words.
  std::uint8_t pending_[image_header_bytes];
  std::uint32_t pending_bytes_ = 0;
};

}  // namespace assay::firmware::device
