// Configuration spaces saved as text: the hexadecimal dumps of lspci, 64 to 4096 bytes a function.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "probes/pcie/config_space.h"

namespace assay::probes {

inline constexpr std::size_t most_dump_bytes = std::size_t{64} << 20;

// Each function begins with a line "01:00.0 NAME" or "0000:01:00.0 NAME"; its bytes follow in lines
// "10: 00 1a ...". Other lines, such as those of -v, are left out. Sorted by address. Errors:
// usage, with the line's number, for bytes that leave a gap or belong to no function, for two
// functions of one address, and for a text without any.
Result<std::vector<PciFunction>> parse_lspci_dump(std::string_view text);

}  // namespace assay::probes
