#include "station/config/serial_pattern.h"

#include <re2/re2.h>

namespace assay::station {
namespace {

constexpr std::size_t max_pattern_bytes = 200;
constexpr std::size_t max_serial_bytes = 128;

RE2::Options options() {
  RE2::Options quiet;
  quiet.set_log_errors(false);
  return quiet;
}

}  // namespace

Result<> check_serial_pattern(const std::string& pattern) {
  if (pattern.size() > max_pattern_bytes) {
    return fail(ErrorKind::bad_file, "longer than 200 characters");
  }
  const RE2 compiled(pattern, options());
  if (!compiled.ok()) return fail(ErrorKind::bad_file, compiled.error());
  return {};
}

bool matches_serial_pattern(const std::string& pattern, const std::string& serial) {
  if (serial.size() > max_serial_bytes || !check_serial_pattern(pattern)) return false;
  return RE2::FullMatch(serial, RE2(pattern, options()));
}

}  // namespace assay::station
