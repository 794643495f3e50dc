// How far a search for schedules is, for who waits for it.
#pragma once

#include <optional>
#include <vector>

#include "answer/question/watch.h"
#include "base/quantity.h"
#include "fuse/solution/solution.h"
#include "pipeline/problem/problem.h"

namespace dovetail::answer {

/// The best so far, its bound and gap, the speed and the time left, for which eighty columns have room; then the peak,
/// with `peak_bound` where there is one, what the search is at, and how much is done.
std::vector<ProgressField> progress_fields(const fuse::Progress& progress, base::Ticks bound,
                                           std::optional<base::Memory> peak_bound, base::TimeUnit unit);

/// Tells a watch how far a search is.
class SearchProgress {
 public:
  /// `bound` is the proven one on the makespan of `problem`; both others must outlive this.
  SearchProgress(const Watch& watch, const pipeline::Problem& problem, base::Ticks bound);

  void tell(const fuse::Progress& progress);
  /// Speed that the search told last; 0 where it told none.
  double iterations_per_second() const { return iterations_per_second_; }

 private:
  std::optional<base::Memory> peak_bound(base::Ticks makespan);

  const Watch& watch_;
  const pipeline::Problem& problem_;
  base::Ticks bound_;
  bool has_peak_bound_;
  std::optional<base::Memory> peak_bound_;  // at the makespan:
  base::Ticks peak_bound_makespan_;
  double iterations_per_second_ = 0;
};

}  // namespace dovetail::answer
