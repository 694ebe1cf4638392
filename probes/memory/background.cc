#include "probes/memory/background.h"

namespace assay::probes {
namespace {

constexpr std::uint64_t even_bits = 0x5555555555555555;
constexpr unsigned modulus = 20;

}  // namespace

LineData::LineData(const Background& background, std::uint64_t base)
    : kind(background.kind), base_address(base) {
  if (kind == Background::Kind::random) seed = mix(background.value);
  const std::uint64_t flip = background.inverted ? ~std::uint64_t{0} : 0;
  for (std::size_t t = 0; t < most_tables; ++t) {
    for (std::size_t w = 0; w < words_per_line; ++w) {
      const bool is_chosen = (t * words_per_line + w) % modulus == background.offset;
      std::uint64_t word = 0;
      switch (kind) {
        case Background::Kind::uniform:
          word = (w & background.inverted_words) != 0 ? ~background.value : background.value;
          break;
        case Background::Kind::checkerboard:
          word = w % 2 == 0 ? even_bits : ~even_bits;
          break;
        case Background::Kind::address:
          word = w * sizeof(std::uint64_t);
          break;
        case Background::Kind::random:
          // The words of a line differ from each other by keys of the seed's.
          word = mix(seed ^ (~std::uint64_t{0} - w));
          break;
        case Background::Kind::modulo_20:
          word = is_chosen ? background.value : ~background.value;
          break;
      }
      tables[t][w] = word ^ flip;
      chosen[t][w] = is_chosen ? ~std::uint64_t{0} : 0;
    }
  }
}

std::uint64_t word_of(const Background& background, std::uint64_t index,
                      std::uint64_t base_address) {
  const LineData data(background, base_address);
  const std::size_t line = index / words_per_line;
  return data.tables[data.table_of(line)][index % words_per_line] ^ data.scalar(line);
}

}  // namespace assay::probes
