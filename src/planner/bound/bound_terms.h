// The terms of the bound on periods: sums over tasks that no period is below (bound.h).
#pragma once

#include <vector>

#include "plan/job.h"

namespace dovetail::planner {

/// What counts of a task in a term.
struct TermPart {
  double seconds = 0;  ///< times its seconds
  double whole = 0;    ///< times the seconds of the stage that it leads; what is fused into that stage has none
  double busy = 0;     ///< times the seconds that it keeps each of its devices busy
  double work = 0;     ///< times its part of all devices' busy seconds
  double refit = 0;    ///< times the seconds in which its engine gets new weights
  double weight_sync_work = 0;  ///< times these, as a part of all devices' seconds

  friend bool operator==(const TermPart&, const TermPart&) = default;
};
/// [task]
using Term = std::vector<TermPart>;

/// The work of all tasks, the circles of the workflow, and the circles with stretches of work in place of some of their
/// tasks; of jobs with very many circles some of them: fewer only weaken the bound. With `stages` also each that passes
/// a generation once more, as the whole stage that it may be fused to.
std::vector<Term> bound_terms(const plan::Job& job, bool stages);

}  // namespace dovetail::planner
