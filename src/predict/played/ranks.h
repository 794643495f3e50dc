// What data-parallel ranks with fewer tokens than the slowest one do meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/task_plan.h"
#include "predict/closed_form/scenario.h"
#include "simulate/trace.h"

namespace dovetail::predict {

/// A task's ranks.
struct Ranks {
  std::int32_t task = -1;
  std::vector<double> parts;  ///< [rank] of the slowest one's work, which is the first; descending
};

/// What cost::shares_of_ranks says of a task that trains or infers.
Ranks ranks_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// `trace`, in which all ranks of each of its stages do what the slowest does, with less of it for the others: of each
/// pass the part that they have, launches excepted, and then `imbalance`. Passes of one stage alone follow one another
/// without a gap, and the rank waits behind them; in a pipeline each begins when the slowest rank's does. Which rank is
/// the slowest is nobody's choice: it is the first. More than eight ranks become eight kinds: the slowest, and seven of
/// as many ranks each, at their mean. REQUIRES: as many ranks of all tasks; the devices of a lane are those of the
/// first rank, then those of the second, and so on.
simulate::Trace with_ranks(simulate::Trace trace, const std::vector<Ranks>& tasks);

}  // namespace dovetail::predict
