// Threads in the place of processes: what runs over several ranks, tested in one process and without MPI.
#pragma once

#include <functional>
#include <vector>

#include "parallel/exchange.h"

namespace dovetail::test {

/// A group of `ranks`, one Exchange for each, every one for a thread of its own. Like that of MPI: a rank that does not
/// come within `timeout_seconds` is an Error for those that wait for it, and every call of any rank from then on is
/// one.
std::vector<parallel::Exchange> connect_threads(int ranks, double timeout_seconds = 20);

/// Calls `work` once for each rank of such a group, all at the same time, and returns when all are done.
void run_on_ranks(int ranks, const std::function<void(const parallel::Exchange&)>& work);

}  // namespace dovetail::test
