// firmware/serial/ymodem_sender.h: whatever a receiver answers. The first byte says which protocol
// and how long the file is; the rest comes over the wire, where a byte 0xFE is a pause (what comes
// right behind an answer is dropped), and then the port vanishes.
#include "firmware/serial/ymodem_sender.h"

#include <time.h>

#include <algorithm>

#include "firmware/device/checksum.h"
#include "tests/fuzz/fuzz.h"

using assay::Result;
using assay::fuzz::require;
namespace firmware = assay::firmware;

namespace {

class Receiver final : public firmware::Transport {
 public:
  Receiver(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  Result<std::size_t> read(std::span<std::uint8_t> buffer, std::int64_t deadline_ns) override {
    if (left_ == 0) return assay::fail(assay::ErrorKind::vanished, "gone", name_);
    if (*data_ == pause) {
      ++data_;
      --left_;
      const std::int64_t begin_ns = assay::monotonic_ns();
      const timespec until{deadline_ns / assay::ns_per_s, deadline_ns % assay::ns_per_s};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      paused_ns_ += assay::monotonic_ns() - begin_ns;
      if (paused_ns_ > most_paused_ns) left_ = 0;
      return assay::fail(assay::ErrorKind::timeout, "a pause", name_);
    }
    std::size_t count = std::min(buffer.size(), left_);
    count = static_cast<std::size_t>(std::find(data_, data_ + count, pause) - data_);
    std::copy_n(data_, count, buffer.begin());
    data_ += count;
    left_ -= count;
    return count;
  }
  Result<> write(std::span<const std::uint8_t> bytes, std::int64_t) override {
    sent.insert(sent.end(), bytes.begin(), bytes.end());
    require(sent.size() < (std::size_t{1} << 24), "it does not send without end");
    return {};
  }
  Result<> discard_input() override { return {}; }
  Result<> set_baud(int) override { return {}; }
  const std::string& name() const override { return name_; }

  std::vector<std::uint8_t> sent;

 private:
  static constexpr std::uint8_t pause = 0xFE;
  // They take their time; a whole transfer needs some 90 ms of them.
  static constexpr std::int64_t most_paused_ns = 120 * assay::ns_per_ms;

  std::int64_t paused_ns_ = 0;
  const std::uint8_t* data_;
  std::size_t left_;
  std::string name_ = "fuzz";
};

// The file as a receiver would put it together that took each block when it first came.
std::vector<std::uint8_t> file_in(const std::vector<std::uint8_t>& sent, bool has_header) {
  std::vector<std::uint8_t> file;
  std::uint8_t next = 1;
  bool header_seen = !has_header;
  for (std::size_t at = 0; at < sent.size();) {
    const std::size_t size = sent[at] == 0x02 ? 1024 : sent[at] == 0x01 ? 128 : 0;
    if (size == 0) {
      ++at;
      continue;
    }
    require(sent.size() - at >= size + 5, "whole blocks");
    const std::uint8_t* block = sent.data() + at;
    require(block[1] == static_cast<std::uint8_t>(~block[2]), "a number and its complement");
    require(firmware::device::crc16_xmodem(block + 3, size + 2) == 0, "a CRC");
    if (!header_seen && block[1] == 0) {
      header_seen = true;
    } else if (block[1] == next) {
      file.insert(file.end(), block + 3, block + 3 + size);
      ++next;
    }
    at += size + 5;
  }
  return file;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool batch = data[0] % 2 == 0;
  std::vector<std::uint8_t> content(std::size_t{data[0]} * 20);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::uint8_t>(i * 31);
  Receiver receiver(data + 1, size - 1);
  std::uint64_t acknowledged = 0;
  firmware::ModemOptions options;
  options.protocol = batch ? firmware::XyModem::ymodem : firmware::XyModem::xmodem_1k;
  // Less, and a busy machine would miss an answer that is there.
  options.start_timeout_ns = 100 * assay::ns_per_ms;
  options.answer_timeout_ns = 100 * assay::ns_per_ms;
  options.on_progress = [&](std::uint64_t done) {
    require(done >= acknowledged && done <= content.size(), "progress grows to the end");
    acknowledged = done;
  };
  const auto sent = firmware::send_file(receiver, "f", content, options);
  if (!sent) return 0;
  assay::fuzz::reached("sent " + std::to_string(content.size()) + " bytes");
  const auto file = file_in(receiver.sent, batch);
  require(file.size() >= content.size() && std::equal(content.begin(), content.end(), file.begin()),
          "done means that the whole file was sent");
  return 0;
}
