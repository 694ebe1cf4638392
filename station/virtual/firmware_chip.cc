#include "station/virtual/firmware_chip.h"

#include <fcntl.h>
#include <unistd.h>

#include <random>

#include "base/atomic_file.h"
#include "base/fd.h"
#include "firmware/device/boot_record.h"
#include "firmware/device/host/flash_file.h"
#include "firmware/device/slots.h"
#include "firmware/image/firmware_image.h"

namespace assay::station {
namespace {

using firmware::device::BootRecord;
using firmware::device::Flash;
using firmware::device::Slots;
using firmware::device::host::FlashFile;

constexpr std::size_t payload_bytes = 256 << 10;

// No two versions have the same payload, as with real ones.
Result<firmware::FirmwareImage> image_of(const std::string& board, const std::string& version) {
  std::seed_seq seed(version.begin(), version.end());
  std::mt19937 random(seed);
  std::vector<std::uint8_t> payload(payload_bytes);
  for (auto& byte : payload) byte = static_cast<std::uint8_t>(random());
  return firmware::pack_image(payload, {board, version, 1});
}

}  // namespace

Result<> make_firmware_chip(const std::string& path, const std::string& board,
                            const std::string& version) {
  const auto image = image_of(board, version);
  if (!image) return std::unexpected(image.error());
  FlashFile chip;
  std::string why;
  if (!chip.open(path, &why)) return fail(ErrorKind::io, why, "the virtual board's flash chip");
  Slots slots(chip.chip(), FlashFile::layout, board.c_str());
  using firmware::device::UpdateError;
  const bool written =
      slots.begin_update() == UpdateError::none &&
      slots.write(image->bytes.data(), static_cast<std::uint32_t>(image->bytes.size())) ==
          UpdateError::none &&
      slots.finish_update() == UpdateError::none;
  // The factory boots it once and keeps it.
  if (!written || slots.boot() != 0 || !slots.confirm()) {
    return fail(ErrorKind::io, "cannot be written", path);
  }
  return {};
}

Result<> make_firmware_image(const std::string& path, const std::string& board,
                             const std::string& version) {
  const auto image = image_of(board, version);
  if (!image) return std::unexpected(image.error());
  return write_file_atomically(
      path, {reinterpret_cast<const char*>(image->bytes.data()), image->bytes.size()},
      Durability::visible);
}

std::optional<SemanticVersion> running_version(const std::string& chip_path) {
  UniqueFd fd(open(chip_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  int number = fd.get();
  const Flash chip{&number, FlashFile::sector_bytes,
                   [](void* context, std::uint32_t offset, std::uint8_t* out, std::uint32_t size) {
                     return pread(*static_cast<int*>(context), out, size, offset) ==
                            static_cast<ssize_t>(size);
                   },
                   [](void*, std::uint32_t) { return false; },
                   [](void*, std::uint32_t, const std::uint8_t*, std::uint32_t) { return false; }};
  BootRecord record;
  if (!firmware::device::read_boot_record(chip, FlashFile::layout, &record)) return std::nullopt;
  const std::uint8_t slot = record.state == BootRecord::State::trial ? record.trial : record.active;
  std::uint8_t bytes[firmware::device::image_header_bytes];
  firmware::device::ImageHeader header;
  if (slot > 1 || !chip.read(&number, FlashFile::layout.slots[slot], bytes, sizeof bytes) ||
      firmware::device::parse_image_header(bytes, &header) != firmware::device::HeaderError::none) {
    return std::nullopt;
  }
  const auto version = parse_semantic_version(header.version);
  return version ? std::optional(*version) : std::nullopt;
}

}  // namespace assay::station
