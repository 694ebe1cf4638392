// Draws a run on a canvas, whatever the canvas' size.
#pragma once

#include <cstdint>
#include <string_view>

#include "tui/canvas.h"
#include "tui/model.h"

namespace assay::tui {

// The canvas is expected blank. `keys` is the last line: what a person can press.
void draw(Canvas& canvas, const DashboardModel& model, std::int64_t now_wall_ns,
          std::string_view keys);

}  // namespace assay::tui
