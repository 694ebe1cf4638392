// The flash chip of a virtual board: a file with the image that the factory put in, which the
// board's firmware then owns. Looked at from outside, as a probe on the chip's pins would.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/semver.h"

namespace assay::station {

// Makes the chip, with a confirmed image of that version in its first slot.
Result<> make_firmware_chip(const std::string& path, const std::string& board,
                            const std::string& version);

// An update as the vendor gives it away.
Result<> make_firmware_image(const std::string& path, const std::string& board,
                             const std::string& version);

// What the chip's boot record says runs, also while the firmware is at work. None: nothing does.
std::optional<SemanticVersion> running_version(const std::string& chip_path);

}  // namespace assay::station
