// What the tests of the firmware send and receive.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::firmware {

using Bytes = std::vector<std::uint8_t>;

}  // namespace assay::firmware
