// firmware/device/dfu_device.h: whatever a host asks of it.
#include "firmware/device/dfu_device.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "firmware/device/sha256.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::reached;
using assay::fuzz::require;
using namespace assay::firmware::device;

namespace {

constexpr std::uint32_t sector = 256;
constexpr FlashLayout layout{{0, sector}, {2 * sector, 6 * sector}, 4 * sector};

struct Chip {
  std::array<std::uint8_t, 10 * sector> bytes;

  Chip() { bytes.fill(0xFF); }
  Flash flash() {
    return {this, sector,
            [](void* chip, std::uint32_t offset, std::uint8_t* out, std::uint32_t size) {
              const auto& all = static_cast<Chip*>(chip)->bytes;
              require(offset + std::uint64_t{size} <= all.size(), "reads stay on the chip");
              std::memcpy(out, all.data() + offset, size);
              return true;
            },
            [](void* chip, std::uint32_t offset) {
              auto& all = static_cast<Chip*>(chip)->bytes;
              require(offset % sector == 0 && offset < all.size(), "erases stay on the chip");
              std::memset(all.data() + offset, 0xFF, sector);
              return true;
            },
            [](void* chip, std::uint32_t offset, const std::uint8_t* in, std::uint32_t size) {
              auto& all = static_cast<Chip*>(chip)->bytes;
              require(offset + std::uint64_t{size} <= all.size(), "writes stay on the chip");
              for (std::uint32_t i = 0; i < size; ++i) {
                require(all[offset + i] == 0xFF, "only what was erased is written");
                all[offset + i] = in[i];
              }
              return true;
            }};
  }
};

void install(Slots* slots) {
  std::array<std::uint8_t, image_header_bytes + 4> image{};
  ImageHeader header;
  std::strcpy(header.board, "m6");
  std::strcpy(header.version, "1.0.0");
  header.payload_bytes = 4;
  Sha256 sha;
  sha.update(image.data() + image_header_bytes, 4);
  sha.finish(header.sha256);
  write_image_header(header, image.data());
  slots->boot();
  slots->begin_update();
  slots->write(image.data(), image.size());
  require(slots->finish_update() == UpdateError::none, "a good image is taken");
  slots->boot();
  slots->confirm();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  std::uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  std::uint16_t number() {
    const std::uint8_t low = byte();
    return static_cast<std::uint16_t>(low | byte() << 8);
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

constexpr DfuIdentity identity{.vendor = 0x1209,
                               .runtime_product = 1,
                               .dfu_product = 2,
                               .release = 3,
                               .manufacturer = "m",
                               .product = "p",
                               .serial = "s",
                               .attributes = dfu_can_download | dfu_can_upload,
                               .detach_timeout_ms = 200,
                               .transfer_bytes = 300};

// A bus reset; so many milliseconds as the byte behind it says.
constexpr std::uint8_t bus_reset_action = 0x80;
constexpr std::uint8_t time_action = 0x81;

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Chip chip;
  Slots slots(chip.flash(), layout, "m6");
  install(&slots);
  const std::uint8_t running = slots.running();
  const auto begin = chip.bytes.begin() + layout.slots[running];
  const std::vector<std::uint8_t> before(begin, begin + layout.slot_bytes);

  DfuIdentity mine = identity;
  // The two attributes that change how it goes.
  mine.attributes = static_cast<std::uint8_t>(mine.attributes | (input.byte() & 0x0C));
  DfuDevice device(mine, {.block_ms = 5, .manifest_ms = 9}, slots);
  device.start();
  std::uint32_t now_ms = 0xFFFF'FFF0;
  while (!input.empty() && !device.wants_reset()) {
    const std::uint8_t action = input.byte();
    if (action == bus_reset_action) {
      device.bus_reset(now_ms);
      continue;
    }
    if (action == time_action) {
      now_ms += input.byte();
      continue;
    }
    SetupPacket setup;
    if (action < 0x10) {  // a DFU request
      const bool in = action == 2 || action == 3 || action == 5;
      setup = {static_cast<std::uint8_t>(in ? 0xA1 : 0x21), action, input.number(), 0,
               input.number()};
    } else {  // any other one, whole
      setup.request_type = input.byte();
      setup.request = input.byte();
      setup.value = input.number();
      setup.index = input.number();
      setup.length = input.number();
    }
    std::vector<std::uint8_t> out((setup.request_type & request_in) != 0 ? 0 : setup.length);
    for (auto& byte : out) byte = input.byte();
    const ControlReply reply = device.control(setup, out.data(), now_ms);
    require(reply.stalled || reply.size <= setup.length, "no more than was asked for");
    require(!reply.stalled || reply.size == 0, "a stall brings nothing");
    if (reply.size > 0) {
      require(reply.data != nullptr, "what is sent is there");
      std::vector<std::uint8_t> copy(reply.data, reply.data + reply.size);
      require(copy.size() == reply.size, "and can be read");
    }
    if (setup.request == 6 && setup.request_type == request_in && !reply.stalled) {
      reached("descriptor " + std::to_string(setup.value));
    }
    if (action == static_cast<std::uint8_t>(DfuRequest::upload) && reply.size > 0 &&
        device.state() == DfuState::dfu_idle) {
      reached("the image is read");
    }
    require(device.state() <= DfuState::error, "a state of the specification's");
    require((device.state() == DfuState::error) == (device.status() != DfuStatus::ok),
            "an error has its status, and nothing else has one");
    device.work();
    (void)device.wants_reattach();
  }
  if (slots.pending() != no_slot) reached("an image waits for its trial");
  if (device.wants_reset()) reached("a reset");
  require(std::equal(before.begin(), before.end(), begin), "the running image is not touched");
  return 0;
}
