// Where a run begins or goes on.
#pragma once

#include "base/result.h"
#include "control/models.h"
#include "control/ranks/rank_talk.h"
#include "control/run/run_state.h"
#include "control/run_settings.h"
#include "records/checkpoints.h"
#include "runtime/run/run_command.h"

namespace dovetail::runtime {

/// The state to go on from, with the models loaded: of the newest checkpoint where the run is resumed, else the first.
/// Ranks that talk go on from what rank 0 finds; null: there are no others. An Error also where rows without a
/// checkpoint would be lost.
base::Result<control::RunState> state_to_begin_with(const RunArguments& arguments, const control::RunSettings& settings,
                                                    const records::CheckpointPlace& place, control::RankTalk* talk,
                                                    control::Models& models);

}  // namespace dovetail::runtime
