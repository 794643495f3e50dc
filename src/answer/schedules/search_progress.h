// Reports the progress of a search for schedules.
#pragma once

#include <optional>
#include <vector>

#include "answer/question/watch.h"
#include "base/quantity.h"
#include "fuse/solution/solution.h"
#include "pipeline/problem/problem.h"

namespace dovetail::answer {

/// Best result so far, its bound and gap, the speed and the time left fit in eighty columns. Wider lines also show the
/// peak with `peak_bound`, the phase of the search and the share that is done.
std::vector<ProgressField> progress_fields(const fuse::Progress& progress, base::Ticks bound,
                                           std::optional<base::Memory> peak_bound, base::TimeUnit unit);

/// Forwards the progress of a search to a Watch.
class SearchProgress {
 public:
  /// `bound` is the lower bound on the makespan of `problem`. `watch` and `problem` must outlive this object.
  SearchProgress(const Watch& watch, const pipeline::Problem& problem, base::Ticks bound);

  void tell(const fuse::Progress& progress);
  /// Last reported speed; 0 if unknown.
  double iterations_per_second() const { return iterations_per_second_; }

 private:
  std::optional<base::Memory> peak_bound(base::Ticks makespan);

  const Watch& watch_;
  const pipeline::Problem& problem_;
  base::Ticks bound_;
  bool has_peak_bound_;
  std::optional<base::Memory> peak_bound_;  // for peak_bound_makespan_
  base::Ticks peak_bound_makespan_;
  double iterations_per_second_ = 0;
};

}  // namespace dovetail::answer
