#include "fuse/bounds/one_machine.h"

#include <algorithm>

namespace dovetail::fuse {

using base::Ticks;

Ticks preemptive_one_machine(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.head < b.head; });
  const auto shorter_tail = [](const Job& a, const Job& b) { return a.tail < b.tail; };
  std::vector<Job> ready;  // a heap; `duration` is what is left
  Ticks now;
  Ticks end;
  for (std::size_t released = 0; released < jobs.size() || !ready.empty();) {
    if (ready.empty()) now = std::max(now, jobs[released].head);
    for (; released < jobs.size() && jobs[released].head <= now; ++released) {
      ready.push_back(jobs[released]);
      std::push_heap(ready.begin(), ready.end(), shorter_tail);
    }
    // Shortening the job at the top leaves the heap in order: it is sorted by tails.
    Job& current = ready.front();
    const Ticks until_release = released < jobs.size() ? jobs[released].head - now : Ticks::max();
    const Ticks run = std::min(current.duration, until_release);
    now += run;
    current.duration -= run;
    if (current.duration > Ticks(0)) continue;
    end = std::max(end, now + current.tail);
    std::pop_heap(ready.begin(), ready.end(), shorter_tail);
    ready.pop_back();
  }
  return end;
}

}  // namespace dovetail::fuse
