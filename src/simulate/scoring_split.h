// How workers begin: whose model each of them loads first.
#pragma once

#include <cstddef>
#include <vector>

#include "simulate/scoring.h"

namespace dovetail::simulate {

/// As score(), with the best way to begin: what the first `first` workers load first, such that all ends soonest. Tried are the rules
/// alone; all of them on one task; and all shares of the workers, in the order of the tasks, where they are at most 64. Else the shares
/// such that the most work of a task for each of its workers is least, and these with one worker at a time moved from one task to another,
/// as long as that gains. Ties: the earlier in this list. `workers` get their first_task.
Scoring score_best(const std::vector<InferTask>& tasks, const std::vector<Sample>& samples, const std::vector<base::Ticks>& ready,
                   std::vector<Worker>& workers, std::size_t first);

}  // namespace dovetail::simulate
