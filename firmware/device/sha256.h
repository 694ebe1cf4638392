// SHA-256 (FIPS 180-4) for a chip that has no library. Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::firmware::device {

class Sha256 {
 public:
  static constexpr std::size_t digest_bytes = 32;

  Sha256();
  void update(const std::uint8_t* bytes, std::size_t size);
  // Once, at the end.
  void finish(std::uint8_t digest[digest_bytes]);

 private:
  void block(const std::uint8_t* bytes);

  std::uint32_t state_[8];
  std::uint8_t pending_[64];
  std::uint64_t bytes_ = 0;
};

}  // namespace assay::firmware::device
