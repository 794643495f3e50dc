// Processes that share a search out.
#pragma once

#include "answer/question/watch.h"
#include "parallel/exchange.h"

namespace dovetail::answer {

/// A note where there are more processes than chains to share out.
void note_idle_processes(const parallel::Exchange& exchange, int chains, const Watch& watch);

}  // namespace dovetail::answer
