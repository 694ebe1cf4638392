// Packs and unfolds one piece of a chunk. LZ4 stands for a board's unfolding hardware, which knows
// its block format; zstd packs closer and is for the CPU.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "runtime/compiled/npu_format.h"

namespace assay::runtime::npu {

// At most piece_bytes in. Empty: packing does not make it smaller, or the codec is none.
std::vector<std::byte> pack(Codec codec, std::span<const std::byte> piece);

// Whatever the bytes are, writes into `piece` alone, and all of it. ErrorKind::bad_file when they
// do not unfold to just its size.
Result<> unfold(Codec codec, std::span<const std::byte> stored, std::span<std::byte> piece);

}  // namespace assay::runtime::npu
