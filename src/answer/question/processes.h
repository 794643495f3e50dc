// Processes that share a search.
#pragma once

#include "answer/question/watch.h"
#include "parallel/exchange.h"

namespace dovetail::answer {

/// Adds a note if there are more processes than chains.
void note_idle_processes(const parallel::Exchange& exchange, int chains, const Watch& watch);

}  // namespace dovetail::answer
