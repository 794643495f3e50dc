// Work distributed over threads. The assignment to threads never affects the result.
#pragma once

#include <functional>

namespace dovetail::parallel {

/// Calls work(0) ... work(count - 1), each once, on at most `threads` threads including the calling one. Returns when
/// all calls have ended. They run in any order and at the same time, so they must not share mutable state. If calls
/// throw, rethrows the first exception after all of them have ended.
void for_each_index(int count, int threads, const std::function<void(int)>& work);

/// Returns the default number of threads of a search: the number of processors that this process may run on.
int default_thread_count();

}  // namespace dovetail::parallel
