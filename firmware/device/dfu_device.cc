#include "firmware/device/dfu_device.h"

#include "firmware/device/bytes.h"

namespace assay::firmware::device {
namespace {

// USB 2.0, 9.4.
constexpr std::uint8_t get_status_request = 0;
constexpr std::uint8_t get_descriptor = 6;
constexpr std::uint8_t get_configuration = 8;
constexpr std::uint8_t set_configuration = 9;
constexpr std::uint8_t get_interface = 10;
constexpr std::uint8_t set_interface = 11;

constexpr std::uint8_t type_of_request = 0x60;
constexpr std::uint8_t standard_type = 0x00;
constexpr std::uint8_t class_type = 0x20;
constexpr std::uint8_t recipient = 0x1F;
constexpr std::uint8_t to_device = 0;
constexpr std::uint8_t to_interface = 1;

DfuStatus status_of(UpdateError error) {
  switch (error) {
    case UpdateError::none:
      return DfuStatus::ok;
    case UpdateError::flash:
      return DfuStatus::write;
    case UpdateError::header:
      return DfuStatus::file;
    case UpdateError::board:
      return DfuStatus::target;
    case UpdateError::size:
      return DfuStatus::address;
    case UpdateError::hash:
      return DfuStatus::verify;
    case UpdateError::rollback:
    case UpdateError::state:
      return DfuStatus::vendor;
  }
  return DfuStatus::unknown;
}

const char* reason_of(UpdateError error) {
  switch (error) {
    case UpdateError::none:
      return "";
    case UpdateError::flash:
      return "the flash chip failed";
    case UpdateError::header:
      return "no firmware image, or a damaged one";
    case UpdateError::board:
      return "the image is for another board";
    case UpdateError::size:
      return "the image does not fit, or is longer than its header says";
    case UpdateError::hash:
      return "the image is not what its header says";
    case UpdateError::rollback:
      return "the image is older than its security counter allows";
    case UpdateError::state:
      return dfu_reason_on_trial;
  }
  return "";
}

ControlReply done() {
  return {false, nullptr, 0};
}

}  // namespace

SetupPacket parse_setup(const std::uint8_t bytes[setup_packet_bytes]) {
  return {bytes[0], bytes[1], get16(bytes + 2), get16(bytes + 4), get16(bytes + 6)};
}

DfuDevice::DfuDevice(const DfuIdentity& identity, const DfuTimes& times, Slots& slots)
    : identity_(identity), times_(times), slots_(slots) {}

void DfuDevice::start() {
  configured_ = false;
  wants_reattach_ = false;
  wants_reset_ = false;
  work_left_ = false;
  updated_ = false;
  state_ = DfuState::app_idle;
  status_ = DfuStatus::ok;
  reason_ = "";
  if (slots_.running() == no_slot) have_no_firmware();
}

void DfuDevice::have_no_firmware() {
  state_ = DfuState::error;
  status_ = DfuStatus::firmware;
  reason_ = "there is no firmware to run";
}

ControlReply DfuDevice::control(const SetupPacket& setup, const std::uint8_t* data,
                                std::uint32_t now_ms) {
  let_time_pass(now_ms);
  const std::uint8_t type = setup.request_type & type_of_request;
  if (type == standard_type) return standard(setup);
  // Requests for others do not touch the state.
  if (type != class_type || (setup.request_type & recipient) != to_interface || setup.index != 0) {
    return {};
  }
  return class_request(setup, data, now_ms);
}

ControlReply DfuDevice::standard(const SetupPacket& setup) {
  const bool in = (setup.request_type & request_in) != 0;
  const std::uint8_t to = setup.request_type & recipient;
  switch (setup.request) {
    case get_status_request:
      if (!in) return {};
      put16(reply_, 0);
      return answer(2, setup);
    case get_descriptor:
      return in && to == to_device ? descriptor(setup) : ControlReply{};
    case get_configuration:
      if (!in) return {};
      reply_[0] = configured_ ? 1 : 0;
      return answer(1, setup);
    case set_configuration:
      if (in || setup.value > 1) return {};
      configured_ = setup.value == 1;
      return done();
    case get_interface:
      if (!in || setup.index != 0) return {};
      reply_[0] = 0;
      return answer(1, setup);
    case set_interface:
      return !in && setup.index == 0 && setup.value == 0 ? done() : ControlReply{};
    default:
      return {};
  }
}

ControlReply DfuDevice::descriptor(const SetupPacket& setup) {
  const auto number = static_cast<std::uint8_t>(setup.value);
  switch (setup.value >> 8) {
    case 1:
      write_device_descriptor(identity_, in_dfu_mode(), reply_);
      return answer(device_descriptor_bytes, setup);
    case 2:
      if (number != 0) return {};
      write_configuration_descriptor(identity_, in_dfu_mode(), reply_);
      return answer(configuration_descriptor_bytes, setup);
    case 3:
      switch (static_cast<DfuString>(number)) {
        case DfuString::languages:
          return answer(write_language_descriptor(reply_), setup);
        case DfuString::manufacturer:
          return answer(write_string_descriptor(identity_.manufacturer, reply_), setup);
        case DfuString::product:
          return answer(write_string_descriptor(identity_.product, reply_), setup);
        case DfuString::serial:
          return answer(write_string_descriptor(identity_.serial, reply_), setup);
        case DfuString::interface:
          return answer(write_string_descriptor("firmware", reply_), setup);
        case DfuString::reason:
          return answer(write_string_descriptor(reason_, reply_), setup);
      }
      return {};
    default:
      return {};
  }
}

// The host takes less when it asked for less.
ControlReply DfuDevice::answer(std::uint16_t size, const SetupPacket& setup) const {
  return {false, reply_, size < setup.length ? size : setup.length};
}

ControlReply DfuDevice::stall(DfuStatus status) {
  // The first error is what the host wants to know.
  if (state_ == DfuState::error) return {};
  state_ = DfuState::error;
  status_ = status;
  work_left_ = false;
  reason_ = status == DfuStatus::stalled_packet ? "a request that has no place here" : "";
  return {};
}

void DfuDevice::fail(UpdateError error) {
  state_ = DfuState::error;
  status_ = status_of(error);
  reason_ = reason_of(error);
}

void DfuDevice::let_time_pass(std::uint32_t now_ms) {
  if (now_ms - timer_from_ms_ < timer_ms_) return;
  if (state_ == DfuState::app_detach) state_ = DfuState::app_idle;
  if (state_ == DfuState::download_busy) state_ = DfuState::download_sync;
  if (state_ == DfuState::manifest && !work_left_) {
    const bool tolerant = (identity_.attributes & dfu_manifestation_tolerant) != 0;
    state_ = tolerant ? DfuState::manifest_sync : DfuState::manifest_wait_reset;
  }
}

ControlReply DfuDevice::class_request(const SetupPacket& setup, const std::uint8_t* data,
                                      std::uint32_t now_ms) {
  if (!in_dfu_mode()) return app_request(setup, now_ms);
  if (state_ == DfuState::download_busy || state_ == DfuState::manifest) {
    return stall(DfuStatus::stalled_packet);
  }
  const bool in = (setup.request_type & request_in) != 0;
  const auto request = static_cast<DfuRequest>(setup.request);
  // Nothing but a reset leads out of here. dfu-util does not reset a device that does not say that
  // it waits for one.
  if (state_ == DfuState::manifest_wait_reset &&
      (!in || (request != DfuRequest::get_status && request != DfuRequest::get_state))) {
    return {};
  }
  const bool wants_data = request == DfuRequest::upload || request == DfuRequest::get_status ||
                          request == DfuRequest::get_state;
  if (in != wants_data) return stall(DfuStatus::stalled_packet);
  switch (request) {
    case DfuRequest::download:
      return download(setup, data);
    case DfuRequest::upload:
      return upload(setup);
    case DfuRequest::get_status:
      return get_status(setup, now_ms);
    case DfuRequest::get_state:
      reply_[0] = static_cast<std::uint8_t>(state_);
      return answer(1, setup);
    case DfuRequest::clear_status:
      if (state_ != DfuState::error) return stall(DfuStatus::stalled_packet);
      state_ = DfuState::dfu_idle;
      status_ = DfuStatus::ok;
      reason_ = "";
      return done();
    case DfuRequest::abort:
      if (state_ == DfuState::error) return stall(DfuStatus::stalled_packet);
      state_ = DfuState::dfu_idle;
      work_left_ = false;
      return done();
    case DfuRequest::detach:
      break;
  }
  return stall(DfuStatus::stalled_packet);
}

// Until the bus is reset the firmware runs.
ControlReply DfuDevice::app_request(const SetupPacket& setup, std::uint32_t now_ms) {
  const bool in = (setup.request_type & request_in) != 0;
  const auto request = static_cast<DfuRequest>(setup.request);
  if (in && request == DfuRequest::get_status) return get_status(setup, now_ms);
  if (in && request == DfuRequest::get_state) {
    reply_[0] = static_cast<std::uint8_t>(state_);
    return answer(1, setup);
  }
  if (in || request != DfuRequest::detach || state_ != DfuState::app_idle) {
    state_ = DfuState::app_idle;
    return {};
  }
  state_ = DfuState::app_detach;
  timer_from_ms_ = now_ms;
  timer_ms_ = setup.value < identity_.detach_timeout_ms ? setup.value : identity_.detach_timeout_ms;
  wants_reattach_ = (identity_.attributes & dfu_will_detach) != 0;
  return done();
}

ControlReply DfuDevice::download(const SetupPacket& setup, const std::uint8_t* data) {
  const bool first = state_ == DfuState::dfu_idle;
  if ((!first && state_ != DfuState::download_idle) ||
      (identity_.attributes & dfu_can_download) == 0 || setup.length > identity_.transfer_bytes ||
      setup.length > most_transfer_bytes) {
    return stall(DfuStatus::stalled_packet);
  }
  if (setup.length == 0) {
    if (first) return stall(DfuStatus::stalled_packet);
    if (!slots_.has_all()) return stall(DfuStatus::not_done);
    state_ = DfuState::manifest_sync;
    work_left_ = true;
    updated_ = false;
    return done();
  }
  if (first) next_block_ = 0;
  // A block that was lost or came twice would shift all that follows.
  if (setup.value != next_block_) return stall(DfuStatus::address);
  beginning_ = first;
  ++next_block_;
  for (std::uint16_t i = 0; i < setup.length; ++i) block_[i] = data[i];
  block_bytes_ = setup.length;
  state_ = DfuState::download_sync;
  work_left_ = true;
  return done();
}

ControlReply DfuDevice::upload(const SetupPacket& setup) {
  const bool first = state_ == DfuState::dfu_idle;
  if ((!first && state_ != DfuState::upload_idle) || (identity_.attributes & dfu_can_upload) == 0 ||
      setup.length == 0 || setup.length > identity_.transfer_bytes ||
      setup.length > most_transfer_bytes) {
    return stall(DfuStatus::stalled_packet);
  }
  const std::uint8_t slot = slots_.running();
  if (first) {
    ImageHeader header;
    if (!slots_.read(slot, 0, block_, image_header_bytes) ||
        parse_image_header(block_, &header) != HeaderError::none) {
      return stall(DfuStatus::firmware);
    }
    next_block_ = 0;
    upload_at_ = 0;
    upload_bytes_ = static_cast<std::uint32_t>(header.total_bytes());
  }
  if (setup.value != next_block_) return stall(DfuStatus::address);
  ++next_block_;
  const std::uint32_t left = upload_bytes_ - upload_at_;
  const auto size = static_cast<std::uint16_t>(left < setup.length ? left : setup.length);
  if (!slots_.read(slot, upload_at_, block_, size)) return stall(DfuStatus::firmware);
  upload_at_ += size;
  // A short block is the last one.
  state_ = size < setup.length ? DfuState::dfu_idle : DfuState::upload_idle;
  return {false, block_, size};
}

ControlReply DfuDevice::get_status(const SetupPacket& setup, std::uint32_t now_ms) {
  std::uint32_t wait_ms = 0;
  if (state_ == DfuState::download_sync && work_left_) {
    state_ = DfuState::download_busy;
    wait_ms = times_.block_ms;
  } else if (state_ == DfuState::download_sync) {
    state_ = DfuState::download_idle;
  } else if (state_ == DfuState::manifest_sync) {
    state_ = updated_ ? DfuState::dfu_idle : DfuState::manifest;
    wait_ms = updated_ ? 0 : times_.manifest_ms;
  }
  if (state_ == DfuState::download_busy || state_ == DfuState::manifest) {
    timer_from_ms_ = now_ms;
    timer_ms_ = wait_ms;
  }
  put32(reply_ + 1, wait_ms);
  reply_[0] = static_cast<std::uint8_t>(status_);
  reply_[4] = static_cast<std::uint8_t>(state_);
  reply_[5] = reason_[0] != '\0' ? static_cast<std::uint8_t>(DfuString::reason) : 0;
  return answer(dfu_status_bytes, setup);
}

void DfuDevice::work() {
  if (!work_left_) return;
  UpdateError error = UpdateError::none;
  if (state_ == DfuState::download_busy) {
    if (beginning_) error = slots_.begin_update();
    if (error == UpdateError::none) error = slots_.write(block_, block_bytes_);
  } else if (state_ == DfuState::manifest) {
    error = slots_.finish_update();
    updated_ = error == UpdateError::none;
  } else {
    return;  // the host has not yet been told to wait
  }
  work_left_ = false;
  if (error != UpdateError::none) fail(error);
}

void DfuDevice::bus_reset(std::uint32_t now_ms) {
  let_time_pass(now_ms);
  if (state_ == DfuState::app_detach) {
    state_ = DfuState::dfu_idle;
  } else if (in_dfu_mode() && configured_) {
    work_left_ = false;
    const bool can_run = updated_ || slots_.running() != no_slot;
    wants_reset_ = can_run;
    if (!can_run) have_no_firmware();
  }
  configured_ = false;
}

bool DfuDevice::wants_reattach() {
  if (!wants_reattach_) return false;
  wants_reattach_ = false;
  configured_ = false;
  state_ = DfuState::dfu_idle;
  return true;
}

}  // namespace assay::firmware::device
