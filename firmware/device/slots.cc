#include "firmware/device/slots.h"

#include "firmware/device/sha256.h"

namespace assay::firmware::device {

const char* to_text(UpdateError error) {
  switch (error) {
    case UpdateError::none:
      return "OK";
    case UpdateError::flash:
      return "FLASH";
    case UpdateError::header:
      return "HEADER";
    case UpdateError::board:
      return "BOARD";
    case UpdateError::rollback:
      return "ROLLBACK";
    case UpdateError::size:
      return "SIZE";
    case UpdateError::hash:
      return "HASH";
    case UpdateError::state:
      return "STATE";
  }
  return "";
}

bool Slots::image_in(std::uint8_t slot, ImageHeader* header) const {
  const std::uint32_t base = layout_.slots[slot];
  std::uint8_t bytes[image_header_bytes];
  ImageHeader read;
  if (!flash_.read(flash_.context, base, bytes, image_header_bytes) ||
      parse_image_header(bytes, &read) != HeaderError::none || !same_text(read.board, board_) ||
      read.total_bytes() > layout_.slot_bytes) {
    return false;
  }
  Sha256 sha;
  for (std::uint32_t at = 0; at < read.payload_bytes;) {
    const std::uint32_t left = read.payload_bytes - at;
    const std::uint32_t size = left < sizeof bytes ? left : sizeof bytes;
    if (!flash_.read(flash_.context, base + image_header_bytes + at, bytes, size)) return false;
    sha.update(bytes, size);
    at += size;
  }
  std::uint8_t digest[Sha256::digest_bytes];
  sha.finish(digest);
  for (std::size_t i = 0; i < sizeof digest; ++i) {
    if (digest[i] != read.sha256[i]) return false;
  }
  *header = read;
  return true;
}

bool Slots::read(std::uint8_t slot, std::uint32_t offset, std::uint8_t* out,
                 std::uint32_t size) const {
  return slot < 2 && size <= layout_.slot_bytes && offset <= layout_.slot_bytes - size &&
         flash_.read(flash_.context, layout_.slots[slot] + offset, out, size);
}

std::uint8_t Slots::boot() {
  running_ = no_slot;
  on_trial_ = false;
  reverted_ = false;
  ImageHeader header;
  BootRecord record;
  const bool known = read_boot_record(flash_, layout_, &record);
  if (known && record.state == BootRecord::State::pending && record.trial != no_slot &&
      image_in(record.trial, &header)) {
    // Noted before it runs: should it hang, the next boot knows that it had its chance.
    BootRecord next = record;
    next.state = BootRecord::State::trial;
    if (write_boot_record(flash_, layout_, next)) {
      running_ = record.trial;
      on_trial_ = true;
      return running_;
    }
  }
  const std::uint8_t preferred = known ? record.active : 0;
  const std::uint8_t order[] = {preferred, static_cast<std::uint8_t>(1 - preferred)};
  for (const std::uint8_t slot : order) {
    if (!image_in(slot, &header)) continue;
    running_ = slot;
    const bool was_on_trial = known && record.state == BootRecord::State::trial;
    reverted_ = was_on_trial && slot != record.trial;
    // There is nothing to go back to; that does not confirm it.
    on_trial_ = was_on_trial && slot == record.trial;
    if (on_trial_) return running_;
    // A record that says something else is out of date; that this cannot be noted does not keep the
    // image from running.
    if (!known || record.state != BootRecord::State::settled || record.active != slot) {
      BootRecord settled;
      settled.active = slot;
      (void)write_boot_record(flash_, layout_, settled);
    }
    return running_;
  }
  return no_slot;
}

bool Slots::may_update() const {
  ImageHeader header;
  return !on_trial_ || !image_in(running_ == 0 ? 1 : 0, &header);
}

UpdateError Slots::begin_update() {
  ++updates_;
  if (!may_update()) return fail(UpdateError::state);
  updating_ = true;
  target_ = running_ == 0 ? 1 : 0;
  received_ = 0;
  erased_to_ = 0;
  pending_bytes_ = 0;
  header_ = ImageHeader();
  // A trial that was announced for this slot is off, or a half-written image could be booted. Were
  // it cut off here, its hash would still keep it from running.
  BootRecord record;
  if (read_boot_record(flash_, layout_, &record) && record.state == BootRecord::State::pending) {
    record.state = BootRecord::State::settled;
    record.trial = no_slot;
    if (!write_boot_record(flash_, layout_, record)) return fail(UpdateError::flash);
  }
  return UpdateError::none;
}

UpdateError Slots::fail(UpdateError error) {
  updating_ = false;
  return error;
}

UpdateError Slots::take_header() {
  if (parse_image_header(pending_, &header_) != HeaderError::none) {
    return fail(UpdateError::header);
  }
  if (!same_text(header_.board, board_)) return fail(UpdateError::board);
  if (header_.total_bytes() > layout_.slot_bytes) return fail(UpdateError::size);
  ImageHeader running;
  if (running_ != no_slot && image_in(running_, &running) &&
      header_.security_counter < running.security_counter) {
    return fail(UpdateError::rollback);
  }
  return UpdateError::none;
}

// Whole words of `pending_`; what is left over stays. At the end the last word is filled up.
UpdateError Slots::program_pending() {
  const std::uint32_t at = received_ - pending_bytes_;
  const std::uint32_t size = (pending_bytes_ + program_bytes - 1) / program_bytes * program_bytes;
  for (std::uint32_t i = pending_bytes_; i < size; ++i) pending_[i] = 0xFF;
  while (erased_to_ < at + size) {
    if (!flash_.erase(flash_.context, layout_.slots[target_] + erased_to_)) {
      return fail(UpdateError::flash);
    }
    erased_to_ += flash_.sector_bytes;
  }
  if (size > 0 && !flash_.program(flash_.context, layout_.slots[target_] + at, pending_, size)) {
    return fail(UpdateError::flash);
  }
  pending_bytes_ = 0;
  return UpdateError::none;
}

UpdateError Slots::write(const std::uint8_t* bytes, std::uint32_t size) {
  if (!updating_) return UpdateError::state;
  for (std::uint32_t i = 0; i < size; ++i) {
    if (received_ >= image_header_bytes && received_ >= header_.total_bytes()) {
      return fail(UpdateError::size);
    }
    pending_[pending_bytes_++] = bytes[i];
    ++received_;
    if (received_ == image_header_bytes) {
      // Nothing is erased before the header says that the image may be taken.
      if (const UpdateError error = take_header(); error != UpdateError::none) return error;
    }
    if (pending_bytes_ == sizeof pending_) {
      if (const UpdateError error = program_pending(); error != UpdateError::none) return error;
    }
  }
  return UpdateError::none;
}

UpdateError Slots::finish_update() {
  if (!updating_) return UpdateError::state;
  if (!has_all()) return fail(UpdateError::size);
  if (const UpdateError error = program_pending(); error != UpdateError::none) return error;
  updating_ = false;
  // Read back from the chip: what was received is not what counts.
  ImageHeader written;
  if (!image_in(target_, &written)) return UpdateError::hash;
  BootRecord record;
  // What runs is what an unconfirmed trial goes back to, also where an older record could not be
  // replaced and says something else.
  record.active = running_ == no_slot ? target_ : running_;
  record.trial = target_;
  record.state = BootRecord::State::pending;
  return write_boot_record(flash_, layout_, record) ? UpdateError::none : UpdateError::flash;
}

std::uint8_t Slots::pending() const {
  BootRecord record;
  const bool waits =
      read_boot_record(flash_, layout_, &record) && record.state == BootRecord::State::pending;
  return waits ? record.trial : no_slot;
}

bool Slots::confirm() {
  if (!on_trial_) return running_ != no_slot;
  BootRecord settled;
  settled.active = running_;
  if (!write_boot_record(flash_, layout_, settled)) return false;
  on_trial_ = false;
  return true;
}

}  // namespace assay::firmware::device
