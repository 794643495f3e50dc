#include "predict/closed_form/phase_schedule.h"

#include <string>
#include <utility>

#include "base/assert.h"
#include "fuse/solve.h"
#include "pipeline/schedule/evaluate.h"
#include "predict/closed_form/intra_stage.h"
#include "predict/closed_form/training_phase.h"

namespace dovetail::predict {
namespace {

using base::Result;

void apply(std::span<const PhaseCounts> counts, pipeline::Problem& problem) {
  for (std::size_t m = 0; m < counts.size(); ++m) {
    problem.models[m].minibatches = counts[m].minibatches;
    problem.models[m].microbatches = counts[m].microbatches;
  }
}

/// Returns the placement in which the tensor-parallel group of stage s in data-parallel rank d runs that stage. Each d
/// is a separate group.
pipeline::Placement placement_of(const llm::Layout& layout) {
  pipeline::Placement placement{.ranks = layout.devices(), .groups = layout.data, .models = {}};
  pipeline::ModelPlacement& own = placement.models.emplace_back();
  for (int data = 0; data < layout.data; ++data) {
    auto& stages = own.ranks.emplace_back();
    for (int chunk = 0; chunk < layout.pipeline * layout.virtual_stages; ++chunk) {
      std::vector<int>& ranks = stages.emplace_back();
      for (int context = 0; context < layout.context; ++context)
        for (int tensor = 0; tensor < layout.tensor; ++tensor)
          ranks.push_back(llm::rank_of(
              layout, {.pipeline = chunk % layout.pipeline, .data = data, .context = context, .tensor = tensor}));
    }
  }
  return placement;
}

Result<PhaseSchedule> schedule_of_one(const Scenario& scenario, const TrainTask& train,
                                      std::span<const PhaseCounts> counts) {
  pipeline::Problem problem;
  DOVETAIL_TRY(problem, training_problem(scenario, train));
  apply(counts, problem);
  DOVETAIL_TRY(pipeline::Schedule schedule, schedule_alone(problem, train.planned.layout));
  return PhaseSchedule{std::move(schedule), placement_of(train.planned.layout)};
}

/// Returns the best schedule within the memory that the plan leaves, otherwise the best of all.
Result<pipeline::Schedule> solve_within_headroom(const Scenario& scenario, const plan::Plan& plan,
                                                 const pipeline::Problem& problem) {
  fuse::SolveOptions options = brief_search(fused_iterations);
  options.cancellation = scenario.cancellation;
  DOVETAIL_TRY(fuse::Solved free, fuse::solve(problem, "auto", options));
  const std::optional<std::int64_t> headroom = average_activation_headroom(scenario, plan);
  if (!headroom || free.solution.evaluation.peak_activation.count() <= *headroom) return std::move(free.schedule);
  options.memory_cap = base::Memory(*headroom);
  Result<fuse::Solved> within = fuse::solve(problem, "auto", options);
  return within.ok() ? std::move(within->schedule) : std::move(free.schedule);
}

Result<PhaseSchedule> schedule_fused(const Scenario& scenario, const plan::Plan& plan, const TrainTask& first,
                                     const TrainTask& second, std::span<const PhaseCounts> counts) {
  pipeline::FusedLayouts fused;
  DOVETAIL_TRY(fused, fused_training_problem(scenario, first, second));
  apply(counts, fused.problem);
  DOVETAIL_TRY(pipeline::Schedule schedule, solve_within_headroom(scenario, plan, fused.problem));
  return PhaseSchedule{std::move(schedule), pipeline::placement_of(fused)};
}

base::Ticks makespan_of(const pipeline::Schedule& schedule) { return schedule.claims.makespan.value(); }

}  // namespace

Result<PhaseSchedule> phase_schedule(const Scenario& scenario, const plan::Plan& plan,
                                     std::span<const std::size_t> tasks, std::span<const PhaseCounts> counts) {
  DOVETAIL_ASSERT(counts.empty() || counts.size() == tasks.size());
  const auto train = [&](std::size_t i) { return TrainTask{tasks[i], plan.tasks[tasks[i]]}; };
  if (tasks.size() == 1) return schedule_of_one(scenario, train(0), counts);
  DOVETAIL_ASSERT(tasks.size() == 2);
  return schedule_fused(scenario, plan, train(0), train(1), counts);
}

Result<pipeline::Schedule> reordered(const Scenario& scenario, const plan::Plan& plan, const pipeline::Schedule& fused,
                                     const pipeline::Problem& measured) {
  pipeline::Problem problem = measured;
  // The limit is the plan's memory, not the memory of the old schedule.
  problem.capacity.reset();
  const Result<pipeline::Schedule> own = pipeline::retimed(fused, problem);
  const Result<pipeline::Schedule> found = solve_within_headroom(scenario, plan, problem);
  if (!own.ok() || !found.ok()) return fused;
  const double gain = 1 - base::seconds_of_ticks(makespan_of(*found)) / base::seconds_of_ticks(makespan_of(*own));
  if (gain < min_gain_of_new_order) return fused;
  pipeline::Problem as_planned = fused.problem;
  as_planned.capacity.reset();
  return pipeline::retimed(*found, as_planned);
}

}  // namespace dovetail::predict
