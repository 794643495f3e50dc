// Processes that share a search.
#pragma once

#include "answer/question/callbacks.h"
#include "parallel/exchange.h"

namespace dovetail::answer {

/// Adds a note if there are more processes than chains.
void note_idle_processes(const parallel::Exchange& exchange, int chains, const Callbacks& callbacks);

}  // namespace dovetail::answer
