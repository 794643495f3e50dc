// The terms of the bound on periods: sums over tasks that no period is below (bound.h).
#pragma once

#include <vector>

#include "plan/job.h"

namespace dovetail::place {

/// What counts of a task in a term.
struct TermPart {
  double seconds = 0;     ///< times its seconds
  double work = 0;        ///< times its part of all devices' seconds
  double refit = 0;       ///< times the seconds in which its engine gets new weights
  double refit_work = 0;  ///< times these, as a part of all devices' seconds

  friend bool operator==(const TermPart&, const TermPart&) = default;
};
/// [task]
using Term = std::vector<TermPart>;

/// The work of all tasks, the circles of the workflow, and the circles with stretches of work in place of some of their tasks; of jobs with
/// very many circles some of them: fewer only weaken the bound.
std::vector<Term> bound_terms(const plan::Job& job);

}  // namespace dovetail::place
