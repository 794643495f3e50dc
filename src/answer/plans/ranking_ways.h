// Several ways to run the job of a trainer's configuration, each of them ranked.
#pragma once

#include "answer/plans/ranking.h"
#include "answer/question/watch.h"
#include "base/result.h"

namespace dovetail::answer {

/// Ranks the plans of a request's job as it is, whatever is allowed; `whole`: with what would change the choice.
using RankJob = base::Result<RankingAnswer>(const RankingRequest& request, const Watch& watch, bool whole);

/// All ways to run the job that are allowed, and the whole answer of the one whose first plan takes the least, or of
/// the one that is asked for. Errors of what is read, and that a process was lost.
base::Result<RankingAnswer> rank_ways(const RankingRequest& request, const Watch& watch, RankJob& rank);

}  // namespace dovetail::answer
