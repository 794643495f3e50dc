// Work shared out over threads: which thread does what never changes the answer.
#pragma once

#include <functional>

namespace dovetail::parallel {

/// Calls work(0) ... work(count - 1), each once, on at most `threads` threads (the calling one is among them), and
/// returns when all are done. The order in which they run is not defined: work on different indices must share nothing
/// that changes.
void for_each_index(int count, int threads, const std::function<void(int)>& work);

/// How many threads a search uses unless told otherwise: the processors that this process may run on.
int default_thread_count();

}  // namespace dovetail::parallel
