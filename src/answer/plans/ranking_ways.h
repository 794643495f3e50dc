// Ranks several ways to run the job of a trainer's configuration.
#pragma once

#include "answer/plans/ranking.h"
#include "answer/question/watch.h"
#include "base/result.h"

namespace dovetail::answer {

/// Ranks the plans of a request's job, ignoring `allowed`. `whole`: also finds inputs that would change the choice.
using RankJob = base::Result<RankingAnswer>(const RankingRequest& request, const Watch& watch, bool whole);

/// Tries all allowed ways to run the job. Returns the complete answer for the fastest or for the requested way. Errors:
/// input that cannot be read, and a lost process.
base::Result<RankingAnswer> rank_ways(const RankingRequest& request, const Watch& watch, RankJob& rank);

}  // namespace dovetail::answer
