#include <cstdio>

#include "station/commands/commands.h"

namespace assay::station {

int report_error(const Error& error) {
  std::fprintf(stderr, "assay: %s\n", error.text().c_str());
  switch (error.kind) {
    case ErrorKind::usage:
    case ErrorKind::bad_file:
      return 2;
    case ErrorKind::cancelled:
      return 130;
    default:
      return 3;
  }
}

}  // namespace assay::station
