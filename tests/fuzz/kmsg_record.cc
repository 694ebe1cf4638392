// probes/thermal/kernel_log.h: one record of /dev/kmsg.
#include "base/utf8.h"
#include "probes/thermal/kernel_log.h"
#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto record = assay::fuzz::text_of(data, size);
  const std::string message = assay::probes::kmsg_message(record);
  if (!message.empty()) assay::fuzz::reached(message);
  require(message.size() <= 4000, "a message has an end");
  require(message == assay::to_printable(message), "a message is safe to print");
  require(record.find(';') != record.npos || message.empty(), "no header, no message");
  return 0;
}
