#include "base/result.h"

#include <cerrno>
#include <cstring>

#include "base/utf8.h"

namespace assay {

std::string Error::text() const {
  std::string text;
  if (!where.empty()) text += where + ": ";
  text += what;
  if (!hint.empty()) text += "; " + hint;
  // What is quoted in it may come from a device, or from a file of anyone's.
  return to_printable(text);
}

std::unexpected<Error> fail_errno(int error_number, std::string what, std::string where) {
  char buffer[128];
  const char* reason = strerror_r(error_number, buffer, sizeof buffer);
  const bool missing = error_number == ENOENT || error_number == ENODEV || error_number == ENXIO ||
                       error_number == EACCES || error_number == EPERM || error_number == ENOTDIR;
  return fail(missing ? ErrorKind::unavailable : ErrorKind::io, what + ": " + reason,
              std::move(where));
}

}  // namespace assay
