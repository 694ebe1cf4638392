// The board's UART beside an update that goes another way: tells which firmware ran before, and
// confirms the new one, which is on trial until then.
#pragma once

#include <optional>
#include <string>

#include "base/semver.h"
#include "firmware/update/board_link.h"
#include "probes/framework/context.h"

namespace assay::probes {

struct TrialUart {
  firmware::BoardLink link;
  std::string version;  // that runs; empty: the board did not answer
};

// None when the profile has no UART, or no port was named and none is found that can be used: the
// log says why. An image that is on trial is in the way of another one; the board is reset and goes
// back. Errors: those of the port that was named; cancelled. The options of the link refer to
// context.cancel.
Result<std::optional<TrialUart>> open_trial_uart(StepContext& context);

// Waits until the board answers with `version`, and confirms it. Errors: those of BoardLink and
// order(); timeout when it runs another version, protocol when it does not keep this one.
Result<> confirm_trial(TrialUart& uart, const SemanticVersion& version);

// Records version_before, when it is known, and version, which is held against the profile's
// minimum.
void measure_versions(StepContext& context, const std::string& before, const std::string& now);

}  // namespace assay::probes
