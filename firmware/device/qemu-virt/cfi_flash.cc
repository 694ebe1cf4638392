#include "firmware/device/qemu-virt/cfi_flash.h"

#include "firmware/device/bytes.h"

namespace assay::firmware::device::qemu_virt {
namespace {

// The same 16 bits to both chips.
constexpr std::uint32_t both(std::uint32_t half) {
  return half << 16 | half;
}

constexpr std::uint32_t read_array = both(0xFF);
constexpr std::uint32_t read_query = both(0x98);
constexpr std::uint32_t clear_status = both(0x50);
constexpr std::uint32_t erase_block = both(0x20);
constexpr std::uint32_t buffered_program = both(0xE8);
constexpr std::uint32_t confirm = both(0xD0);

constexpr std::uint32_t ready = both(0x80);
constexpr std::uint32_t erase_failed = both(0x20);
constexpr std::uint32_t program_failed = both(0x10);
constexpr std::uint32_t voltage_low = both(0x08);
constexpr std::uint32_t block_locked = both(0x02);

constexpr std::uint32_t query_at = 0x55 * 4;

// Both kinds of failure at once, in one chip: the command was none.
CfiError error_of(std::uint32_t status) {
  const std::uint32_t both_kinds = status & (status >> 1) & program_failed;
  if (both_kinds != 0) return CfiError::sequence;
  if ((status & voltage_low) != 0) return CfiError::voltage;
  if ((status & block_locked) != 0) return CfiError::locked;
  if ((status & erase_failed) != 0) return CfiError::erase;
  if ((status & program_failed) != 0) return CfiError::program;
  return CfiError::none;
}

bool is_inside(std::uint32_t offset, std::uint32_t size) {
  return offset <= CfiFlash::chip_bytes && size <= CfiFlash::chip_bytes - offset;
}

}  // namespace

// The query table of each chip (JEDEC JESD68.01): "QRY" and Intel's command set at 0x10, 2^25 bytes
// at 0x27, a buffer of 2^11 at 0x2A, one kind of blocks at 0x2C, which are 256 of 0x200 * 256
// bytes.
CfiError CfiFlash::probe() {
  static constexpr struct {
    std::uint8_t word;
    std::uint8_t value;
  } expected[] = {{0x10, 'Q'}, {0x11, 'R'}, {0x12, 'Y'},  {0x13, 0x01}, {0x14, 0x00}, {0x27, 25},
                  {0x2A, 11},  {0x2C, 1},   {0x2D, 0xFF}, {0x2E, 0x00}, {0x2F, 0x00}, {0x30, 0x02}};
  bus_.write(bus_.context, query_at, read_query);
  CfiError error = CfiError::none;
  for (const auto& e : expected) {
    if (bus_.read(bus_.context, std::uint32_t{e.word} * 4) != both(e.value)) {
      error = CfiError::unknown_chip;
    }
  }
  return end(0, error);
}

CfiError CfiFlash::read(std::uint32_t offset, std::uint8_t* out, std::uint32_t size) {
  if (!is_inside(offset, size)) return CfiError::range;
  make_readable();
  for (std::uint32_t i = 0; i < size;) {
    // The bus knows words alone.
    const std::uint32_t word = bus_.read(bus_.context, (offset + i) & ~3U);
    for (std::uint32_t byte = (offset + i) % 4; byte < 4 && i < size; ++byte) {
      out[i++] = static_cast<std::uint8_t>(word >> (8 * byte));
    }
  }
  return CfiError::none;
}

CfiError CfiFlash::erase(std::uint32_t sector_offset) {
  if (sector_offset % sector_bytes != 0 || !is_inside(sector_offset, sector_bytes)) {
    return CfiError::range;
  }
  // An old error is not this command's.
  bus_.write(bus_.context, sector_offset, clear_status);
  bus_.write(bus_.context, sector_offset, erase_block);
  bus_.write(bus_.context, sector_offset, confirm);
  std::uint32_t status = 0;
  const CfiError waited = wait(sector_offset, erase_timeout_ms, &status);
  return end(sector_offset, waited != CfiError::none ? waited : error_of(status));
}

CfiError CfiFlash::program(std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t size) {
  if (offset % program_bytes != 0 || size % program_bytes != 0 || !is_inside(offset, size)) {
    return CfiError::range;
  }
  make_readable();
  for (std::uint32_t i = 0; i < size; i += 4) {
    const std::uint32_t word = get32(bytes + i);
    if ((bus_.read(bus_.context, offset + i) & word) != word) return CfiError::not_erased;
  }
  while (size > 0) {
    const std::uint32_t room = buffer_bytes - offset % buffer_bytes;
    const std::uint32_t part = size < room ? size : room;
    const CfiError error = program_buffer(offset, bytes, part);
    if (error != CfiError::none) return error;
    offset += part;
    bytes += part;
    size -= part;
  }
  return CfiError::none;
}

CfiError CfiFlash::program_buffer(std::uint32_t offset, const std::uint8_t* bytes,
                                  std::uint32_t size) {
  const std::uint32_t words = size / 4;
  std::uint32_t status = 0;
  bus_.write(bus_.context, offset, clear_status);
  // Ready here means that the buffer is free.
  bus_.write(bus_.context, offset, buffered_program);
  if (wait(offset, program_timeout_ms, &status) != CfiError::none) {
    // One of the two may be ready, and waits for its data: it gets some that change nothing, and no
    // confirmation.
    bus_.write(bus_.context, offset, both(0));
    bus_.write(bus_.context, offset, 0xFFFF'FFFF);
    bus_.write(bus_.context, offset, read_array);
    return end(offset, CfiError::timeout);
  }
  bus_.write(bus_.context, offset, both(words - 1));
  for (std::uint32_t i = 0; i < size; i += 4)
    bus_.write(bus_.context, offset + i, get32(bytes + i));
  bus_.write(bus_.context, offset, confirm);
  const CfiError waited = wait(offset, program_timeout_ms, &status);
  return end(offset, waited != CfiError::none ? waited : error_of(status));
}

// Until both chips are ready. The clock is read first: a status from behind the deadline counts.
CfiError CfiFlash::wait(std::uint32_t offset, std::uint32_t timeout_ms, std::uint32_t* status) {
  const std::uint32_t begin = bus_.now_ms(bus_.context);
  for (;;) {
    const bool late = bus_.now_ms(bus_.context) - begin >= timeout_ms;
    *status = bus_.read(bus_.context, offset);
    if ((*status & ready) == ready) return CfiError::none;
    if (late) return CfiError::timeout;
  }
}

// Leaves the chips as memory.
CfiError CfiFlash::end(std::uint32_t offset, CfiError error) {
  bus_.write(bus_.context, offset, read_array);
  was_late_ = error == CfiError::timeout;
  return error;
}

void CfiFlash::make_readable() {
  if (was_late_) bus_.write(bus_.context, 0, read_array);
}

Flash CfiFlash::chip() {
  return {this, sector_bytes,
          [](void* self, std::uint32_t offset, std::uint8_t* out, std::uint32_t size) {
            return static_cast<CfiFlash*>(self)->read(offset, out, size) == CfiError::none;
          },
          [](void* self, std::uint32_t offset) {
            return static_cast<CfiFlash*>(self)->erase(offset) == CfiError::none;
          },
          [](void* self, std::uint32_t offset, const std::uint8_t* bytes, std::uint32_t size) {
            return static_cast<CfiFlash*>(self)->program(offset, bytes, size) == CfiError::none;
          }};
}

}  // namespace assay::firmware::device::qemu_virt
