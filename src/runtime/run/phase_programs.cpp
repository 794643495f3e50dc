#include "runtime/run/phase_programs.h"

#include <utility>

#include "base/assert.h"
#include "pipeline/program/check.h"
#include "pipeline/program/compile.h"

namespace dovetail::runtime {

using base::Result;
using pipeline::Program;

std::vector<std::size_t> PhasePrograms::phase_of(std::size_t task) const {
  const auto& pair = plan_.fusion.training;
  if (pair && plan::partner_of(*pair, task)) return {(*pair)[0], (*pair)[1]};
  return {task};
}

Result<const PhaseProgram*> PhasePrograms::find(const std::vector<std::size_t>& tasks,
                                                const std::vector<predict::PhaseCounts>& counts) {
  const Key key{tasks, counts, times_.contains(tasks)};
  const auto known = programs_.find(key);
  if (known != programs_.end()) return &known->second;
  PhaseProgram made;
  DOVETAIL_TRY(made, make(tasks, counts));
  return &programs_.emplace(key, std::move(made)).first->second;
}

void PhasePrograms::take_times(const std::vector<std::size_t>& tasks, execute::OpMedians measured) {
  times_[tasks] = std::move(measured);
}

Result<PhaseProgram> PhasePrograms::make(const std::vector<std::size_t>& tasks,
                                         const std::vector<predict::PhaseCounts>& counts) const {
  predict::PhaseSchedule phase;
  DOVETAIL_TRY(phase, predict::phase_schedule(scenario_, plan_, tasks, counts));
  if (const auto times = times_.find(tasks); times != times_.end()) {
    const pipeline::Problem measured =
        execute::with_measured_times(phase.schedule.problem, phase.placement, times->second);
    DOVETAIL_TRY(phase.schedule, predict::reordered(scenario_, plan_, phase.schedule, measured));
  }
  std::vector<pipeline::Exchanges> exchanges = pipeline::exchanges_of(phase.schedule.problem);
  for (std::size_t m = 0; m < tasks.size(); ++m)
    exchanges[m].tied = predict::facts_of(scenario_, tasks[m]).model.tied_embeddings;
  DOVETAIL_TRY(std::vector<Program> programs, pipeline::compile(phase.schedule, phase.placement, exchanges));
  for (const pipeline::Delivery delivery : pipeline::deliveries) DOVETAIL_ASSERT(!pipeline::check(programs, delivery));
  Program own = programs[static_cast<std::size_t>(rank_)];
  if (rank_ != 0) programs.clear();
  return PhaseProgram{std::move(phase), std::move(own), std::move(programs)};
}

}  // namespace dovetail::runtime
