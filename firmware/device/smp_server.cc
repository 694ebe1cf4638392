#include "firmware/device/smp_server.h"

#include "firmware/device/checksum.h"

namespace assay::firmware::device {
namespace {

constexpr std::uint8_t line_end = '\n';
constexpr std::uint8_t first_line[] = {0x06, 0x09};
constexpr std::uint8_t next_line[] = {0x04, 0x14};
// Of a line without its marker and end: a multiple of 4, and 127 bytes with both.
constexpr std::uint32_t line_characters = 124;

constexpr std::uint8_t op_read = 0;
constexpr std::uint8_t op_write = 2;
constexpr std::uint8_t group_os = 0;
constexpr std::uint8_t group_image = 1;

constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// 64 when it is none of base64's.
std::uint8_t value_of(std::uint8_t character) {
  for (std::uint8_t i = 0; i < 64; ++i) {
    if (static_cast<std::uint8_t>(alphabet[i]) == character) return i;
  }
  return 64;
}

bool same(const std::uint8_t* a, const std::uint8_t* b, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// Folds bytes into lines of base64.
class FrameWriter {
 public:
  explicit FrameWriter(const Port& port) : port_(port) {
    line_[0] = first_line[0];
    line_[1] = first_line[1];
  }
  void put(std::uint8_t byte) {
    group_[in_group_++] = byte;
    if (in_group_ == 3) flush_group();
  }
  void end() {
    if (in_group_ > 0) flush_group();
    if (size_ > 2) flush_line();
  }

 private:
  void flush_group() {
    const std::uint32_t bits = static_cast<std::uint32_t>(group_[0]) << 16 |
                               (in_group_ > 1 ? static_cast<std::uint32_t>(group_[1]) << 8 : 0) |
                               (in_group_ > 2 ? group_[2] : 0U);
    for (unsigned i = 0; i < 4; ++i) {
      line_[size_++] = i > in_group_
                           ? static_cast<std::uint8_t>('=')
                           : static_cast<std::uint8_t>(alphabet[bits >> (18 - 6 * i) & 63]);
    }
    in_group_ = 0;
    if (size_ == 2 + line_characters) flush_line();
  }
  void flush_line() {
    line_[size_++] = line_end;
    port_.send(port_.context, line_, size_);
    line_[0] = next_line[0];
    line_[1] = next_line[1];
    size_ = 2;
  }

  Port port_;
  std::uint8_t line_[2 + line_characters + 1];
  std::uint32_t size_ = 2;
  std::uint8_t group_[3] = {};
  std::uint8_t in_group_ = 0;
};

}  // namespace

bool SmpServer::receive(std::uint8_t byte) {
  switch (state_) {
    case State::idle:
      if (byte == first_line[0]) {
        state_ = State::first_marker;
      } else if (byte == next_line[0]) {
        state_ = State::next_marker;
      } else {
        return false;
      }
      return true;
    case State::first_marker:
    case State::next_marker: {
      const bool first = state_ == State::first_marker;
      state_ = State::text;
      if (byte != (first ? first_line[1] : next_line[1])) {
        state_ = State::idle;
        return false;
      }
      if (first) {
        frame_bytes_ = 0;
        bit_count_ = 0;
        bits_ = 0;
        damaged_ = false;
      }
      return true;
    }
    case State::text:
      if (byte == line_end) {
        state_ = State::idle;
        end_line();
      } else if (byte != '\r') {
        take_character(byte);
      }
      return true;
  }
  return false;
}

void SmpServer::take_character(std::uint8_t character) {
  if (character == '=') return;
  const std::uint8_t value = value_of(character);
  if (value == 64 || frame_bytes_ == sizeof frame_) {
    damaged_ = true;
    return;
  }
  bits_ = bits_ << 6 | value;
  bit_count_ = static_cast<std::uint8_t>(bit_count_ + 6);
  if (bit_count_ < 8) return;
  bit_count_ = static_cast<std::uint8_t>(bit_count_ - 8);
  frame_[frame_bytes_++] = static_cast<std::uint8_t>(bits_ >> bit_count_);
  bits_ &= 0xFF;
}

void SmpServer::end_line() {
  if (damaged_ || frame_bytes_ < 2) return;
  const auto wanted = static_cast<std::uint32_t>(frame_[0] << 8 | frame_[1]);
  if (frame_bytes_ < 2 + wanted) return;  // more lines follow
  damaged_ = true;                        // until the next first line
  if (wanted < header_bytes + 2 || frame_bytes_ != 2 + wanted) return;
  // Over packet and CRC it is 0.
  if (crc16_xmodem(packet_, wanted) != 0) return;
  take_packet(wanted - 2);
}

void SmpServer::take_packet(std::uint32_t size) {
  const std::uint8_t op = packet_[0] & 7;
  const auto length = static_cast<std::uint32_t>(packet_[2] << 8 | packet_[3]);
  const auto group = static_cast<std::uint16_t>(packet_[4] << 8 | packet_[5]);
  const std::uint8_t command = packet_[7];
  if ((op != op_read && op != op_write) || length != size - header_bytes) return;
  body_bytes_ = length;
  for (std::uint32_t i = 0; i < header_bytes; ++i) answer_[i] = packet_[i];
  answer_[0] = static_cast<std::uint8_t>((packet_[0] & ~7) | (op + 1));

  if (group == group_os && command == 0) return echo();
  if (group == group_os && command == 5 && op == op_write) {
    answer_rc(Rc::ok);
    wants_reset_ = true;
    return;
  }
  if (group == group_os && command == 6 && op == op_read) return parameters();
  if (group == group_image && command == 0) return op == op_read ? say_images() : set_state();
  if (group == group_image && command == 1 && op == op_write) return upload();
  answer_rc(Rc::not_supported);
}

// `size` bytes of CBOR stand behind the header.
void SmpServer::answer(std::uint32_t size) {
  answer_[2] = static_cast<std::uint8_t>(size >> 8);
  answer_[3] = static_cast<std::uint8_t>(size);
  const std::uint32_t packet = header_bytes + size;
  const std::uint16_t crc = crc16_xmodem(answer_, packet);
  FrameWriter frame(port_);
  frame.put(static_cast<std::uint8_t>((packet + 2) >> 8));
  frame.put(static_cast<std::uint8_t>(packet + 2));
  for (std::uint32_t i = 0; i < packet; ++i) frame.put(answer_[i]);
  frame.put(static_cast<std::uint8_t>(crc >> 8));
  frame.put(static_cast<std::uint8_t>(crc));
  frame.end();
}

void SmpServer::answer_rc(Rc rc) {
  CborWriter out = writer();
  out.map(1);
  out.text("rc");
  out.number(static_cast<std::uint32_t>(rc));
  answer(static_cast<std::uint32_t>(out.size()));
}

void SmpServer::echo() {
  CborValue text;
  if (!body().find("d", &text) || text.type != CborValue::Type::text) return answer_rc(Rc::invalid);
  CborWriter out = writer();
  out.map(1);
  out.text("r");
  out.text(text.data, text.size);
  if (!out.fits()) return answer_rc(Rc::invalid);
  answer(static_cast<std::uint32_t>(out.size()));
}

void SmpServer::parameters() {
  CborWriter out = writer();
  out.map(2);
  out.text("buf_size");
  out.number(packet_bytes);
  out.text("buf_count");
  out.number(1);
  answer(static_cast<std::uint32_t>(out.size()));
}

void SmpServer::say_images() {
  ImageHeader headers[2];
  bool holds[2];
  std::uint32_t count = 0;
  for (std::uint8_t slot = 0; slot < 2; ++slot) {
    holds[slot] = slots_.image_in(slot, &headers[slot]);
    count += holds[slot] ? 1U : 0U;
  }
  CborWriter out = writer();
  out.map(1);
  out.text("images");
  out.array(count);
  for (std::uint8_t slot = 0; slot < 2; ++slot) {
    if (!holds[slot]) continue;
    const bool active = slot == slots_.running();
    out.map(7);
    out.text("image");
    out.number(0);
    out.text("slot");
    out.number(slot);
    out.text("version");
    out.text(headers[slot].version);
    out.text("hash");
    out.bytes(headers[slot].sha256, sizeof headers[slot].sha256);
    out.text("active");
    out.boolean(active);
    out.text("confirmed");
    out.boolean(active && !slots_.on_trial());
    out.text("pending");
    out.boolean(!active && slots_.pending() == slot);
  }
  answer(static_cast<std::uint32_t>(out.size()));
}

// {"hash": h, "confirm": false}: try that image at the next boot, which an upload has arranged
// already. "confirm": true keeps the one that runs.
void SmpServer::set_state() {
  CborValue hash;
  CborValue confirm;
  CborReader reader = body();
  if (!reader.find("hash", &hash) || !reader.find("confirm", &confirm)) {
    return answer_rc(Rc::invalid);
  }
  const bool keep = confirm.type == CborValue::Type::boolean && confirm.number == 1;
  const std::uint8_t slot = keep ? slots_.running() : slots_.pending();
  ImageHeader header;
  if (slot == no_slot || !slots_.image_in(slot, &header)) return answer_rc(Rc::no_entry);
  const bool named = hash.type == CborValue::Type::bytes;
  if (named && (hash.size != sizeof header.sha256 ||
                !same(hash.data, header.sha256, sizeof header.sha256))) {
    return answer_rc(Rc::no_entry);
  }
  if (!named && !keep) return answer_rc(Rc::invalid);
  if (keep && !slots_.confirm()) return answer_rc(Rc::unknown);
  say_images();
}

void SmpServer::upload() {
  CborValue offset;
  CborValue data;
  CborValue length;
  CborValue sha;
  CborReader reader = body();
  if (!reader.find("off", &offset) || !reader.find("data", &data) || !reader.find("len", &length) ||
      !reader.find("sha", &sha) || offset.type != CborValue::Type::number ||
      data.type != CborValue::Type::bytes) {
    return answer_rc(Rc::invalid);
  }
  UpdateError error = UpdateError::none;
  bool own = slots_.updating() && slots_.update_number() == upload_number_;
  if (offset.number == 0) {
    if (length.type != CborValue::Type::number) return answer_rc(Rc::invalid);
    const bool named = sha.type == CborValue::Type::bytes && sha.size == sizeof upload_sha_;
    const bool goes_on = own && named && length.number == upload_bytes_ &&
                         same(sha.data, upload_sha_, sizeof upload_sha_);
    if (!goes_on) {
      error = slots_.begin_update();
      own = error == UpdateError::none;
      upload_number_ = slots_.update_number();
      upload_bytes_ = length.number;
      for (std::size_t i = 0; i < sizeof upload_sha_; ++i) {
        upload_sha_[i] = named ? sha.data[i] : 0;
      }
    }
  } else if (!own) {
    // The last piece again, its answer having been lost; anything else belongs to no upload.
    const bool done = slots_.update_number() == upload_number_ && !slots_.updating() &&
                      upload_bytes_ != 0 && slots_.received() == upload_bytes_;
    if (!done || slots_.pending() == no_slot) return answer_rc(Rc::invalid);
  }
  // What is not the next piece is answered with where that begins.
  if (own && offset.number == slots_.received()) {
    error = slots_.write(data.data, static_cast<std::uint32_t>(data.size));
    if (error == UpdateError::none && slots_.received() == upload_bytes_) {
      error = slots_.finish_update();
    }
  }
  CborWriter out = writer();
  out.map(error == UpdateError::none ? 2 : 3);
  out.text("rc");
  out.number(static_cast<std::uint32_t>(error == UpdateError::none ? Rc::ok : Rc::unknown));
  if (error != UpdateError::none) {
    out.text("rsn");
    out.text(to_text(error));
  }
  out.text("off");
  out.number(slots_.received());
  answer(static_cast<std::uint32_t>(out.size()));
}

}  // namespace assay::firmware::device
