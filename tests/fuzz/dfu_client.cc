// firmware/usb/dfu_client.h: a host with a device that answers whatever it likes.
#include "firmware/usb/dfu_client.h"

#include <algorithm>

#include "tests/fuzz/fuzz.h"

using assay::ErrorKind;
using assay::Result;
using assay::fuzz::reached;
using assay::fuzz::require;
using namespace assay::firmware;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::int64_t busy_timeout_ns = 30 * assay::ns_per_ms;

class Device final : public DfuControl {
 public:
  explicit Device(std::span<const std::uint8_t> script) : script_(script) {}

  Result<Bytes> control_in(DfuRequest, std::uint16_t, std::uint16_t length) override {
    if (auto passed = pass(); !passed) return std::unexpected(passed.error());
    // Many answers are to be as long as they should be.
    const std::uint8_t shorter_by = next() % 16;
    Bytes data(shorter_by < 4 && shorter_by < length ? length - shorter_by : length);
    for (auto& byte : data) byte = next();
    return data;
  }
  Result<> control_out(DfuRequest request, std::uint16_t,
                       std::span<const std::uint8_t> data) override {
    if (request == DfuRequest::download) sent_.insert(sent_.end(), data.begin(), data.end());
    return pass();
  }
  Result<std::string> string(std::uint8_t) override { return std::string("why"); }
  Result<> reset() override { return {}; }
  void wait(std::int64_t ns) override {
    require(ns > 0 && ns <= busy_timeout_ns, "a wait is no longer than the busy timeout");
  }
  const std::string& name() const override { return name_; }

  int requests() const { return requests_; }
  const Bytes& sent() const { return sent_; }

 private:
  // Behind its end a script is zeros: dfuIDLE is never reached by chance.
  std::uint8_t next() {
    if (script_.empty()) return 0;
    const std::uint8_t byte = script_.front();
    script_ = script_.subspan(1);
    return byte;
  }
  Result<> pass() {
    ++requests_;
    switch (next()) {
      case 0xF0:
        return assay::fail(ErrorKind::protocol, "stall");
      case 0xF1:
        return assay::fail(ErrorKind::vanished, "gone");
      case 0xF2:
        return assay::fail(ErrorKind::timeout, "late");
      default:
        return {};
    }
  }

  std::span<const std::uint8_t> script_;
  std::string name_ = "device";
  int requests_ = 0;
  Bytes sent_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t descriptors = std::min<std::size_t>(data[0], size - 1);
  const auto functional = find_dfu_functional({data + 1, descriptors}, "device");
  if (!functional) return 0;
  require(functional->transfer_bytes >= 8, "a transfer has a size");
  const std::span script(data + 1 + descriptors, size - 1 - descriptors);

  const Bytes image(100, 0x41);
  std::uint64_t done = 0;
  const DfuOptions options{.busy_timeout_ns = busy_timeout_ns,
                           .on_progress = [&](std::uint64_t now) {
                             require(now >= done && now <= 1000, "progress goes forward");
                             done = now;
                           }};
  Device writer(script);
  const auto end = DfuClient(writer, *functional).download(image, options);
  // 13 blocks of 8 bytes, each asked for at each millisecond of its timeout, and getting ready.
  require(writer.requests() <= 15 * 32 + 20, "it ends");
  require(writer.sent().size() <= image.size() &&
              std::equal(writer.sent().begin(), writer.sent().end(), image.begin()),
          "what is sent is the image");
  reached(end ? "written, " + std::to_string(static_cast<int>(*end)) : "not written");
  if (end) require(writer.sent().size() == image.size(), "an update that ended was whole");

  done = 0;
  Device reader(script);
  const auto read = DfuClient(reader, *functional).upload(1000, options);
  if (read) reached("read " + std::to_string(read->size()) + " bytes");
  if (read) require(read->size() <= 1000 && read->size() == done, "no more than is wanted");
  return 0;
}
