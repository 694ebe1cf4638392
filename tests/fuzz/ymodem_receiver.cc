// firmware/device/ymodem_receiver.h: what comes over the wire. A byte 0xFE lets 300 ms pass.
#include "firmware/device/ymodem_receiver.h"

#include "tests/fuzz/fuzz.h"

using assay::firmware::device::YmodemReceiver;
using assay::fuzz::require;

namespace {

struct File {
  bool begun = false;
  bool known = false;
  std::uint64_t announced = 0;
  std::uint64_t bytes = 0;
  std::uint64_t answered = 0;
};

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
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == 0xFE) {
      receiver.tick(now += 300);
    } else {
      receiver.receive(data[i], now);
    }
  }
  for (int i = 0; i < 2000 && receiver.state() == YmodemReceiver::State::running; ++i) {
    receiver.tick(now += 300);
  }
  require(receiver.state() != YmodemReceiver::State::running, "it ends by itself");
  require(receiver.state() != YmodemReceiver::State::done ||
              (file.begun && (!file.known || file.bytes == file.announced)),
          "done means the whole file");
  require(file.answered <= 32 * (size + 2100), "it does not talk without end");
  return 0;
}
