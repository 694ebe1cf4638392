// The four functions that any compiler may call, also in freestanding code. Byte by byte: memory is
// Device memory while the MMU is off, and does not take unaligned words.
#include <cstddef>
#include <cstdint>

extern "C" {

void* memcpy(void* to, const void* from, std::size_t size) {
  auto* const out = static_cast<std::uint8_t*>(to);
  const auto* const in = static_cast<const std::uint8_t*>(from);
  for (std::size_t i = 0; i < size; ++i) out[i] = in[i];
  return to;
}

void* memmove(void* to, const void* from, std::size_t size) {
  auto* const out = static_cast<std::uint8_t*>(to);
  const auto* const in = static_cast<const std::uint8_t*>(from);
  if (reinterpret_cast<std::uintptr_t>(out) < reinterpret_cast<std::uintptr_t>(in)) {
    return memcpy(to, from, size);
  }
  for (std::size_t i = size; i > 0; --i) out[i - 1] = in[i - 1];
  return to;
}

void* memset(void* to, int value, std::size_t size) {
  auto* const out = static_cast<std::uint8_t*>(to);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(value);
  return to;
}

int memcmp(const void* a, const void* b, std::size_t size) {
  const auto* const left = static_cast<const std::uint8_t*>(a);
  const auto* const right = static_cast<const std::uint8_t*>(b);
  for (std::size_t i = 0; i < size; ++i) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}

}  // extern "C"
