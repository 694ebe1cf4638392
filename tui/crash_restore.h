// Restores a terminal when the process dies of a signal. A handler can know of it only through a
// static: this is the one that the dashboard keeps.
#pragma once

#include <termios.h>

#include <string>

namespace assay::tui {

// From now on a deadly signal that nobody else handles first sets the modes of `fd` and writes
// `bytes` to it. Call disarm before another arm.
void arm_crash_restore(int fd, const termios& modes, const std::string& bytes);
void disarm_crash_restore();

}  // namespace assay::tui
