// firmware/device/ymodem_receiver.h: what comes over the wire. Behind a byte 0xFE stands what
// chance does not bring:
//   0xFE      the byte 0xFE itself, which is also the complement of block number 1
//   1, 2      a sound block of 128 or 1024 bytes: its number and then its data follow, with zeros
//             for what the input lacks; complement and CRC are added
//   others    300 ms pass
#include "firmware/device/ymodem_receiver.h"

#include <algorithm>
#include <array>
#include <span>

#include "firmware/device/checksum.h"
#include "firmware/device/ymodem_protocol.h"
#include "tests/fuzz/fuzz.h"

using assay::firmware::device::YmodemReceiver;
using assay::fuzz::require;
namespace ymodem = assay::firmware::device::ymodem;

namespace {

struct File {
  bool begun = false;
  bool known = false;
  std::uint64_t announced = 0;
  std::uint64_t bytes = 0;
  std::uint64_t answered = 0;
};

constexpr std::uint8_t escape = 0xFE;

void send_block(YmodemReceiver& receiver, std::uint32_t now, std::uint8_t type, std::uint8_t number,
                std::span<const std::uint8_t> content) {
  std::array<std::uint8_t, 1024> block{};
  std::copy(content.begin(), content.end(), block.begin());
  const std::size_t size = type == ymodem::soh ? 128 : block.size();
  receiver.receive(type, now);
  receiver.receive(number, now);
  receiver.receive(static_cast<std::uint8_t>(~number), now);
  for (const std::uint8_t byte : std::span(block).first(size)) receiver.receive(byte, now);
  const std::uint16_t crc = assay::firmware::device::crc16_xmodem(block.data(), size);
  receiver.receive(static_cast<std::uint8_t>(crc >> 8), now);
  receiver.receive(static_cast<std::uint8_t>(crc), now);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  File file;
  YmodemReceiver receiver(
      {[](void* f, const std::uint8_t*, std::size_t n) { static_cast<File*>(f)->answered += n; },
       &file},
      {&file,
       [](void* f, const char* name, std::uint32_t bytes, bool known) {
         auto& one = *static_cast<File*>(f);
         require(!one.begun && name[0] != 0, "one file, with a name");
         one = {true, known, bytes, 0, one.answered};
         return true;
       },
       [](void* f, const std::uint8_t*, std::uint32_t n) {
         auto& one = *static_cast<File*>(f);
         one.bytes += n;
         require(one.begun && (!one.known || one.bytes <= one.announced), "no more than announced");
         return true;
       }});
  std::uint32_t now = 0;
  receiver.start(now);
  std::span rest(data, size);
  const auto next = [&rest]() -> std::uint8_t {
    if (rest.empty()) return 0;
    const std::uint8_t byte = rest.front();
    rest = rest.subspan(1);
    return byte;
  };
  while (!rest.empty()) {
    const std::uint8_t byte = next();
    if (byte != escape) {
      receiver.receive(byte, now);
      continue;
    }
    const std::uint8_t what = next();
    if (what == escape) {
      receiver.receive(escape, now);
    } else if (what == ymodem::soh || what == ymodem::stx) {
      const std::uint8_t number = next();
      const std::size_t bytes =
          std::min<std::size_t>(rest.size(), what == ymodem::soh ? 128 : 1024);
      send_block(receiver, now, what, number, rest.first(bytes));
      rest = rest.subspan(bytes);
    } else {
      receiver.tick(now += 300);
    }
  }
  for (int i = 0; i < 2000 && receiver.state() == YmodemReceiver::State::running; ++i) {
    receiver.tick(now += 300);
  }
  require(receiver.state() != YmodemReceiver::State::running, "it ends by itself");
  require(receiver.state() != YmodemReceiver::State::done ||
              (file.begun && (!file.known || file.bytes == file.announced)),
          "done means the whole file");
  if (receiver.state() == YmodemReceiver::State::done) {
    assay::fuzz::reached("a whole file of " + std::to_string(file.bytes) + " bytes");
  }
  require(file.answered <= 32 * (size + 2100), "it does not talk without end");
  return 0;
}
