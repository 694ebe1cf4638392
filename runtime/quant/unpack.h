// The weights that stand in a GGUF tensor's blocks. This is the plain reference, a block at a time;
// kernels that compute have their own.
//
// Blocks, all little endian; d, m and minimum are binary16, a code's bits go from the lowest up:
//
//   F32, F16, BF16  one weight each
//   Q8_0  32: d; 32 x int8                                           weight = d q
//   Q4_0  32: d; 16 bytes, low halves are 0..15, high ones 16..31    d (q - 8)
//   Q4_1  32: d, m; 16 bytes as above                                d q + m
//   Q5_0  32: d; u32 of fifth bits; 16 bytes as above                d (q - 16)
//   Q4_K 256: d, minimum; 12 bytes of 8 scales and 8 minima, of 6    d s q - minimum t
//             bits; 128 bytes: 32 hold two sub-blocks of 32
//   Q5_K 256: as Q4_K with 32 bytes of fifth bits before the codes   d s q - minimum t
//   Q6_K 256: 128 bytes of low halves, 64 of two upper bits, 16      d s (q - 32)
//             scales of int8 (for 16 weights each), d
//
// Source: the GGUF specification and the k-quants of ggml ("block_q4_K" and its like).
#pragma once

#include <cstddef>
#include <span>

#include "runtime/gguf/gguf_type.h"

namespace assay::runtime {

// `blocks` are whole blocks of `type`; `weights` has as many elements as they hold. Scales may be
// NaN or infinite, and then weights are.
void unpack(GgufType type, std::span<const std::byte> blocks, std::span<float> weights);

}  // namespace assay::runtime
