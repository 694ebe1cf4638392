// Updates the one DFU device on this machine's USB, through libusb and the kernel.
// usage: dfu_flash IMAGE [PID]    PID is killed when half of the image is written
#include <fmt/core.h>

#include <csignal>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/regular_file.h"
#include "firmware/usb/dfu_update.h"

int main(int argc, char** argv) {
  namespace firmware = assay::firmware;
  if (argc < 2 || argc > 3) return 2;
  const auto content = assay::read_regular_file(argv[1], 16 << 20);
  if (!content) {
    fmt::print(stderr, "{}\n", content.error().text());
    return 2;
  }
  const std::vector<std::uint8_t> image(content->begin(), content->end());
  int victim = argc == 3 ? std::atoi(argv[2]) : 0;
  firmware::DfuUpdateOptions options;
  options.transfer.on_progress = [&](std::uint64_t bytes) {
    if (victim > 0 && bytes >= image.size() / 2) ::kill(std::exchange(victim, 0), SIGKILL);
  };
  const auto updated = firmware::update_over_dfu({}, image, options);
  if (!updated) {
    fmt::print(stderr, "{}\n", updated.error().text());
    return 1;
  }
  fmt::print("{} -> {}\n", updated->before.name(), updated->after.name());
  return 0;
}
