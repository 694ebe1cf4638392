// memory.row_hammer: reads two rows of a bank in turn, as often as a refresh interval allows, and
// looks whether the row between them changed (Kim et al. 2014). It can damage data of other
// processes in neighbouring rows: only a plan or a command that names it runs it.
#pragma once

#include "probes/framework/context.h"

namespace assay::probes {

Probe row_hammer_probe();

}  // namespace assay::probes
