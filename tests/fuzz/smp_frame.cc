// firmware/serial/smp_frame.h: what comes over the wire to the host.
#include "firmware/serial/smp_frame.h"

#include "tests/fuzz/fuzz.h"

using assay::firmware::encode_smp_frame;
using assay::firmware::max_smp_packet;
using assay::firmware::SmpFrameReader;
using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  SmpFrameReader reader;
  for (std::size_t i = 0; i < size; ++i) {
    if (const auto packet = reader.feed(data[i])) {
      require(packet->size() <= max_smp_packet, "bounded");
      assay::fuzz::reached("a packet of " + std::to_string(packet->size()) + " bytes");
    }
  }
  // Whatever came before, a sound frame is read.
  const std::vector<std::uint8_t> sent(data, data + (size < 600 ? size : 600));
  reader.feed('\n');
  bool read = false;
  for (const char c : encode_smp_frame(sent)) {
    if (const auto packet = reader.feed(static_cast<std::uint8_t>(c))) read = *packet == sent;
  }
  require(read, "a sound frame is read");
  return 0;
}
