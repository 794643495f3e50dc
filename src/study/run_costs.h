// What plans take and hold as the responses of a run grow. Private to the study of runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "parallel/cancellation.h"
#include "study/forecast.h"

namespace dovetail::study {

/// Steps that are calculated together.
struct RunPart {
  std::int64_t first = 0;
  std::int64_t last = 0;

  std::int64_t steps() const { return last - first + 1; }
};

/// At most `most` parts of as many steps, but for one. REQUIRES: steps >= 1, most >= 1.
std::vector<RunPart> run_parts(std::int64_t steps, std::int64_t most);

struct PartCost {
  double seconds = 0;  ///< of an iteration, with the mean lengths of its steps
  bool fits = false;   ///< with the longest of them
};

/// The job at a step of a run, or with other responses, and what is predicted of its plans there.
class RunStep {
 public:
  RunStep(const predict::Scenario& scenario, const LengthGrowth& growth, std::int64_t step);
  RunStep(const predict::Scenario& scenario, workflow::LengthDistribution responses);
  RunStep(const RunStep&) = delete;
  RunStep& operator=(const RunStep&) = delete;

  const plan::Job& job() const { return job_; }
  const predict::Scenario& scenario() const { return scenario_; }
  /// By estimate_like; where that does not fit, with a fused schedule of its own, which may hold less.
  predict::Estimate estimate(const ForecastPlan& plan) const;

 private:
  plan::Job job_;
  predict::Scenario scenario_;  ///< of job_
};

/// [part][plan]. Only of the first parts where `cancellation` is requested meanwhile.
std::vector<std::vector<PartCost>> run_costs(const predict::Scenario& scenario, const LengthGrowth& growth,
                                             const std::vector<RunPart>& parts, const std::vector<ForecastPlan>& plans,
                                             const parallel::Cancellation* cancellation = nullptr);

/// The first step from `from` to `to` at which the plan does not fit, if longer responses never need less; nothing
/// where it fits at all.
std::optional<std::int64_t> first_overflow(const predict::Scenario& scenario, const LengthGrowth& growth,
                                           const ForecastPlan& plan, std::int64_t from, std::int64_t to);

/// What is missing at the step. REQUIRES: the plan does not fit there.
Overflow overflow_at(const predict::Scenario& scenario, const LengthGrowth& growth, const ForecastPlan& plan,
                     std::int64_t step);

}  // namespace dovetail::study
