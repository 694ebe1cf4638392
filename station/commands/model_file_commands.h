// assay model info | synth | tokenize: models as files.
#pragma once

#include "station/commands/commands.h"

namespace assay::station {

void add_model_info(CLI::App& model, Invocation& invocation);
void add_model_synth(CLI::App& model, Invocation& invocation);
void add_model_tokenize(CLI::App& model, Invocation& invocation);

}  // namespace assay::station
