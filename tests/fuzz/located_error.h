// Errors in files that people write name the line and the column.
#pragma once

#include <cstdio>
#include <string>

#include "base/result.h"
#include "station/config/located_json.h"
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

// Puts the input as a JSON file to `parse`, a function Result<...>(const LocatedJson&).
template <class Parse>
void parse_written_file(const std::uint8_t* data, std::size_t size, const Parse& parse) {
  const auto json = station::LocatedJson::parse(text_of(data, size), "file.json");
  if (!json) {
    require_place(json.error());
  } else if (const auto parsed = parse(*json); !parsed) {
    require_place(parsed.error());
  } else {
    reached("read");
  }
}

}  // namespace assay::fuzz
