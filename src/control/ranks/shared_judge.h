// One rank's rewards for all ranks of a run.
#pragma once

#include "control/ranks/rank_talk.h"
#include "control/run/run.h"

namespace dovetail::control {

/// Judges on rank 0, by `own`, and gives all ranks what it says, its Error too. `own` is not looked at on other ranks;
/// it hears of this rank's cancellation alone, so that rank 0 answers while others wait. `talk` must stay.
Judge shared_judge(Judge own, RankTalk& talk);

}  // namespace dovetail::control
