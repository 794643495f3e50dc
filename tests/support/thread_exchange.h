// Threads in place of processes, to test code for several ranks in one process and without MPI.
#pragma once

#include <functional>
#include <vector>

#include "parallel/exchange.h"

namespace dovetail::test {

/// Connects a group of `ranks` ranks and returns an Exchange for each, to be used by a separate thread. As with MPI, if
/// a rank does not respond within `timeout_seconds`, the ranks that wait for it get an Error, and so does every later
/// call of any rank.
std::vector<parallel::Exchange> connect_threads(int ranks, double timeout_seconds = 20);

/// Connects `ranks` ranks and calls `work` for each in a separate thread, all at the same time. Returns when all are
/// done.
void run_on_ranks(int ranks, const std::function<void(const parallel::Exchange&)>& work);

}  // namespace dovetail::test
