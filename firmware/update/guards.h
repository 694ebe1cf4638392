// What must be true before the first byte of flash is erased. Pure: the image, what is wanted, and
// what the board said; no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/semver.h"
#include "firmware/image/firmware_image.h"

namespace assay::firmware {

struct ImagePolicy {
  std::string board;       // the id that the image must be for
  std::string public_key;  // that must have signed it; empty: nobody need have
};

// What can be said of the image without a board. Errors: usage, bad_file.
Result<> check_image(const FirmwareImage& image, const ImagePolicy& policy);

struct BoardState {
  SemanticVersion version;
  std::optional<std::int32_t> temperature_mc;  // none: the board does not tell
  bool has_image = true;                       // false: the version is that of its ROM alone
};

struct UpdatePolicy {
  bool allow_downgrade = false;
  std::optional<std::int32_t> temperature_limit_mc;
};

enum class UpdateNeed { update, same_version };

// Errors: usage (older than what runs); unavailable (too hot; try again later).
Result<UpdateNeed> check_board(const FirmwareImage& image, const BoardState& board,
                               const UpdatePolicy& policy);

}  // namespace assay::firmware
