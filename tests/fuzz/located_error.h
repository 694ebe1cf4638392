// Errors in files that people write name the line and the column.
#pragma once

#include <cstdio>
#include <string>

#include "base/result.h"
#include "tests/fuzz/fuzz.h"

namespace assay::fuzz {

// The target calls its file "file.json".
inline void require_place(const Error& error) {
  require(error.kind == ErrorKind::bad_file && !error.what.empty(), "an error says what is wrong");
  unsigned line = 0;
  unsigned column = 0;
  require(std::sscanf(error.where.c_str(), "file.json:%u:%u", &line, &column) == 2 && line >= 1 &&
              column >= 1,
          "an error has a place");
}

}  // namespace assay::fuzz
