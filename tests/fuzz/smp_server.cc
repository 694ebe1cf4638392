// firmware/device/smp_server.h: raw bytes when the input begins with an even one; otherwise
// packets, each behind a byte with its length, in sound frames, so that what is inside them is
// reached.
#include "firmware/device/smp_server.h"

#include <algorithm>

#include "firmware/serial/smp_frame.h"
#include "tests/fuzz/fuzz.h"

namespace device = assay::firmware::device;
using assay::fuzz::require;

namespace {

// As a chip is: bits are cleared only, and nothing lies outside.
struct Chip {
  static constexpr std::uint32_t sector = 1024;
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(std::size_t{18} * sector, 0xFF);

  device::Flash flash() {
    return {this, sector,
            [](void* self, std::uint32_t offset, std::uint8_t* out, std::uint32_t size) {
              auto& chip = *static_cast<Chip*>(self);
              require(offset <= chip.bytes.size() && size <= chip.bytes.size() - offset, "inside");
              std::copy_n(chip.bytes.begin() + offset, size, out);
              return true;
            },
            [](void* self, std::uint32_t offset) {
              auto& chip = *static_cast<Chip*>(self);
              require(offset % sector == 0 && offset < chip.bytes.size(), "a sector");
              std::fill_n(chip.bytes.begin() + offset, sector, std::uint8_t{0xFF});
              return true;
            },
            [](void* self, std::uint32_t offset, const std::uint8_t* from, std::uint32_t size) {
              auto& chip = *static_cast<Chip*>(self);
              require(offset <= chip.bytes.size() && size <= chip.bytes.size() - offset, "inside");
              for (std::uint32_t i = 0; i < size; ++i) {
                require((chip.bytes[offset + i] & from[i]) == from[i], "was erased");
                chip.bytes[offset + i] = from[i];
              }
              return true;
            }};
  }
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Chip chip;
  device::Slots slots(chip.flash(),
                      {{0, Chip::sector}, {2 * Chip::sector, 10 * Chip::sector}, 8 * Chip::sector},
                      "b");
  slots.boot();
  std::size_t answered = 0;
  device::SmpServer server({[](void* n, const std::uint8_t*, std::size_t bytes) {
                              *static_cast<std::size_t*>(n) += bytes;
                            },
                            &answered},
                           slots);
  if (data[0] % 2 == 0) {
    for (std::size_t i = 1; i < size; ++i) server.receive(data[i]);
  } else {
    for (std::size_t at = 1; at < size;) {
      const std::size_t length = std::min<std::size_t>(std::size_t{data[at]} * 8, size - at - 1);
      const std::string frame = assay::firmware::encode_smp_frame({data + at + 1, length});
      for (const char c : frame) server.receive(static_cast<std::uint8_t>(c));
      at += 1 + length;
    }
  }
  if (answered > 0) assay::fuzz::reached("an answer");
  if (slots.pending() != device::no_slot) assay::fuzz::reached("an image waits for its trial");
  if (slots.updating()) {
    assay::fuzz::reached("an update of " + std::to_string(slots.received()) + " bytes so far");
  }
  require(answered <= (size + 1) * 4096, "it does not talk without end");
  return 0;
}
