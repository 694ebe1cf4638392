#include "firmware/device/npu_firmware.h"

namespace assay::firmware::device {
namespace {

// Lines of answers are put together here: there is no printf.
class Text {
 public:
  Text& add(const char* text) {
    while (*text != '\0' && length_ < sizeof text_ - 1) text_[length_++] = *text++;
    text_[length_] = '\0';
    return *this;
  }
  Text& add_number(std::int32_t number) {
    char digits[12];
    std::size_t count = 0;
    std::uint32_t rest =
        number < 0 ? 0U - static_cast<std::uint32_t>(number) : static_cast<std::uint32_t>(number);
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (number < 0) add("-");
    while (count > 0) {
      const char one[2] = {digits[--count], '\0'};
      add(one);
    }
    return *this;
  }
  const char* get() const { return text_; }

 private:
  char text_[96] = {};
  std::size_t length_ = 0;
};

}  // namespace

// Handlers are members; the server knows functions.
const Command NpuFirmware::commands[] = {
    {"AT+SLOTS?", [](void* f, const char*) { return static_cast<NpuFirmware*>(f)->say_slots(); }},
    {"AT+STATUS?", [](void* f, const char*) { return static_cast<NpuFirmware*>(f)->say_status(); }},
    {"AT+TEMP?",
     [](void* f, const char*) { return static_cast<NpuFirmware*>(f)->say_temperature(); }},
    {"AT+UPDATE",
     [](void* f, const char*) { return static_cast<NpuFirmware*>(f)->begin_update(); }},
    {"AT+UPDATE?", [](void* f, const char*) { return static_cast<NpuFirmware*>(f)->say_update(); }},
    {"AT+CONFIRM", [](void* f, const char*) { return static_cast<NpuFirmware*>(f)->confirm(); }},
    {"AT+BOOTLOG?",
     [](void* f, const char*) { return static_cast<NpuFirmware*>(f)->say_boot_log(); }},
    {"AT+IPR=",
     [](void* f, const char* rate) { return static_cast<NpuFirmware*>(f)->set_rate(rate); }},
    {"AT+RESET", [](void* f, const char*) { return static_cast<NpuFirmware*>(f)->reset(); }},
};

NpuFirmware::NpuFirmware(const BoardPort& port)
    : port_(port),
      slots_(port.flash, port.layout, port.board),
      server_({port.rom_version, port.serial}, port.uart,
              {commands, sizeof commands / sizeof commands[0], this}),
      receiver_(port.uart, {this,
                            [](void* f, const char*, std::uint32_t, bool) {
                              // Nothing is erased before the image's own header was read.
                              auto* self = static_cast<NpuFirmware*>(f);
                              self->update_error_ = self->slots_.begin_update();
                              return self->update_error_ == UpdateError::none;
                            },
                            [](void* f, const std::uint8_t* bytes, std::uint32_t size) {
                              auto* self = static_cast<NpuFirmware*>(f);
                              self->update_error_ = self->slots_.write(bytes, size);
                              return self->update_error_ == UpdateError::none;
                            }}),
      smp_(port.uart, slots_) {}

void NpuFirmware::boot() {
  const std::uint8_t slot = slots_.boot();
  if (slot != no_slot && slots_.image_in(slot, &running_)) server_.set_version(running_.version);
  server_.boot();
  (void)say_boot_log();
}

bool NpuFirmware::say_boot_log() {
  if (slots_.running() == no_slot) {
    server_.send_line("boot: no image, ROM only", "");
    return true;
  }
  server_.send_line("boot: ", Text()
                                  .add("slot ")
                                  .add_number(slots_.running())
                                  .add(" ")
                                  .add(running_.version)
                                  .add(slots_.on_trial() ? " on trial" : "")
                                  .add(slots_.reverted() ? " after a revert" : "")
                                  .get());
  return true;
}

bool NpuFirmware::say_slots() {
  for (std::uint8_t slot = 0; slot < 2; ++slot) {
    ImageHeader header;
    const bool holds = slots_.image_in(slot, &header);
    server_.send_line("SLOT:", Text()
                                   .add_number(slot)
                                   .add(",")
                                   .add(holds ? header.version : "EMPTY")
                                   .add(",")
                                   .add(slot == slots_.running() ? "RUNNING" : "-")
                                   .get());
  }
  return true;
}

bool NpuFirmware::say_status() {
  Text text;
  if (slots_.running() == no_slot) {
    text.add("NONE");
  } else {
    text.add_number(slots_.running());
  }
  text.add(slots_.on_trial() ? ",TRIAL" : ",CONFIRMED").add(slots_.reverted() ? ",REVERTED" : ",-");
  server_.send_line("STATUS:", text.get());
  return true;
}

bool NpuFirmware::say_temperature() {
  server_.send_line("TEMP:", Text().add_number(port_.temperature_mc(port_.context)).get());
  return true;
}

bool NpuFirmware::begin_update() {
  if (!slots_.may_update()) {
    last_update_ = to_text(UpdateError::state);
    (void)say_update();
    return false;
  }
  begin_receiving_ = true;
  return true;
}

bool NpuFirmware::say_update() {
  server_.send_line("UPDATE:", last_update_);
  return true;
}

bool NpuFirmware::confirm() {
  return slots_.confirm();
}

bool NpuFirmware::reset() {
  port_.reset(port_.context);
  return true;
}

// V.250, 6.2.10. The rates that adapters have too.
bool NpuFirmware::set_rate(const char* rate) {
  if (port_.set_baud == nullptr) return false;
  static constexpr std::uint32_t rates[] = {115200, 230400, 460800, 921600};
  for (const std::uint32_t known : rates) {
    if (!same_text(Text().add_number(static_cast<std::int32_t>(known)).get(), rate)) continue;
    new_baud_ = known;
    return true;
  }
  return false;
}

void NpuFirmware::receive(std::uint8_t byte, std::uint32_t now_ms) {
  if (receiving_) {
    receiver_.receive(byte, now_ms);
    look_at_transfer();
    return;
  }
  if (smp_.receive(byte)) {
    if (smp_.wants_reset()) port_.reset(port_.context);
    return;
  }
  server_.receive(byte);
  if (new_baud_ != 0) {
    port_.set_baud(port_.context, new_baud_);
    new_baud_ = 0;
  }
  if (begin_receiving_) {
    begin_receiving_ = false;
    receiving_ = true;
    update_error_ = UpdateError::none;
    receiver_.start(now_ms);
  }
}

void NpuFirmware::tick(std::uint32_t now_ms) {
  if (!receiving_) return;
  receiver_.tick(now_ms);
  look_at_transfer();
}

void NpuFirmware::look_at_transfer() {
  const YmodemReceiver::State state = receiver_.state();
  if (state == YmodemReceiver::State::running) return;
  receiving_ = false;
  if (state == YmodemReceiver::State::done) update_error_ = slots_.finish_update();
  const bool told = state == YmodemReceiver::State::done || update_error_ != UpdateError::none;
  last_update_ = told ? to_text(update_error_) : "TRANSFER";
  (void)say_update();
}

}  // namespace assay::firmware::device
