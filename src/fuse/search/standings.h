// What every process knows of every chain of a search: the best of each, told at the border of each round.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "parallel/exchange.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// The best of a chain.
struct Standing {
  std::int64_t makespan = 0;
  std::int64_t peak = 0;
  std::int64_t score = 0;  ///< Chain::best_score
  pipeline::Order order;
};

/// What a process tells the others at the border of a round.
struct RoundReport {
  bool interrupted = false;
  std::int64_t planned = 0;     ///< iterations a chain that it can do in its time; the least of all counts
  std::vector<int> chains;      ///< whose best got better
  std::vector<Standing> bests;  ///< [as chains]
};

/// A report as a message, and back. Messages come from other processes of the same program: a malformed one is our bug.
std::string message_of(const RoundReport& report);
RoundReport report_of(std::string_view message);

/// Tells all processes `own` and gives their reports in order of rank: `own` alone without an exchange.
base::Result<std::vector<RoundReport>> exchange_reports(const parallel::Exchange* exchange, const RoundReport& own);

}  // namespace dovetail::fuse
