#include "tests/firmware/in_process_dfu.h"

#include "base/clock.h"

namespace assay::test {

Result<> InProcessDfu::pass() {
  const int request = requests_++;
  if (unplug_at_ && request >= *unplug_at_) {
    return fail(ErrorKind::vanished, "the device is gone", name_);
  }
  if (failure_ && failure_->first == request) return fail(failure_->second, "it failed", name_);
  return {};
}

Result<std::vector<std::uint8_t>> InProcessDfu::control_in(Request request, std::uint16_t value,
                                                           std::uint16_t length) {
  if (auto passed = pass(); !passed) return std::unexpected(passed.error());
  auto reply = board_.request(request, value, {}, length);
  if (reply.stalled) return fail(ErrorKind::protocol, "refused the request", name_);
  if (change) change(request, &reply.data);
  return reply.data;
}

Result<> InProcessDfu::control_out(Request request, std::uint16_t value,
                                   std::span<const std::uint8_t> data) {
  if (auto passed = pass(); !passed) return passed;
  if (board_.request(request, value, data).stalled) {
    return fail(ErrorKind::protocol, "refused the request", name_);
  }
  return {};
}

Result<std::string> InProcessDfu::string(std::uint8_t index) {
  if (auto passed = pass(); !passed) return std::unexpected(passed.error());
  const auto reply =
      board_.control({0x80, 6, static_cast<std::uint16_t>(0x0300 | index), 0x0409, 255});
  if (reply.stalled) return fail(ErrorKind::protocol, "refused the request", name_);
  std::string text;
  for (std::size_t i = 2; i < reply.data.size(); i += 2) {
    text += static_cast<char>(reply.data[i]);
  }
  return text;
}

Result<> InProcessDfu::reset() {
  if (auto passed = pass(); !passed) return passed;
  board_.bus_reset();
  return {};
}

void InProcessDfu::wait(std::int64_t ns) {
  part_of_ms_ns_ += ns;
  board_.now_ms += static_cast<std::uint32_t>(part_of_ms_ns_ / ns_per_ms);
  part_of_ms_ns_ %= ns_per_ms;
}

}  // namespace assay::test
