// What plans take and hold as the responses of a run grow. Private to the study of runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "place/study/forecast.h"

namespace dovetail::place {

/// Steps that are calculated together.
struct RunPart {
  std::int64_t first = 0;
  std::int64_t last = 0;

  std::int64_t steps() const { return last - first + 1; }
  double middle() const { return static_cast<double>(first + last) / 2; }
};

/// At most `most` parts of as many steps, but for one. REQUIRES: steps >= 1, most >= 1.
std::vector<RunPart> run_parts(std::int64_t steps, std::int64_t most);

struct PartCost {
  double seconds = 0;  ///< of an iteration, with the lengths of the part's middle
  bool fits = false;   ///< with those of its longer end
};

/// The job at a step of a run, and what is predicted of its plans there.
class RunStep {
 public:
  RunStep(const Ground& ground, const LengthGrowth& growth, double step);
  RunStep(const RunStep&) = delete;
  RunStep& operator=(const RunStep&) = delete;

  const plan::Job& job() const { return job_; }
  const Ground& ground() const { return ground_; }
  Estimate estimate(const ForecastPlan& plan) const { return estimate_like(ground_, plan.plan, plan.over_bound); }

 private:
  plan::Job job_;
  Ground ground_;  ///< of job_
};

/// [part][plan].
std::vector<std::vector<PartCost>> run_costs(const Ground& ground, const LengthGrowth& growth, const std::vector<RunPart>& parts,
                                             const std::vector<ForecastPlan>& plans);

/// The first step from `from` to `to` at which the plan does not fit, as if it did not from then on; nothing where it fits at `to`.
std::optional<std::int64_t> first_overflow(const Ground& ground, const LengthGrowth& growth, const ForecastPlan& plan, std::int64_t from,
                                           std::int64_t to);

/// What is missing at the step. REQUIRES: the plan does not fit there.
Overflow overflow_at(const Ground& ground, const LengthGrowth& growth, const ForecastPlan& plan, std::int64_t step);

}  // namespace dovetail::place
