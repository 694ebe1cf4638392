// Which image the flashing probes take, and what it must be.
#pragma once

#include <string>

#include "firmware/update/guards.h"
#include "probes/framework/context.h"

namespace assay::probes {

// The path of the image: parameter "image", else the one that the profile names, here or in one of
// the bench's folders. Errors: usage (nothing names one), bad_file (it is nowhere).
Result<std::string> find_image(const Bench& bench, const Parameters& parameters);

// For this board, signed when its profile says by whom.
firmware::ImagePolicy image_policy(const Bench& bench);

}  // namespace assay::probes
