#include "measure/measurement.h"

namespace dovetail::measure {

using workflow::TaskKind;

std::string name_of(const Phase& phase, const plan::Job& job) {
  if (const auto* task = std::get_if<workflow::TaskId>(&phase)) return job.workflow.tasks[task->index()].name;
  return std::string(base::enum_name(std::get<PhaseKind>(phase)));
}

std::string phase_title(const std::string& name) {
  const auto kind = base::enum_named<PhaseKind>(name);
  return kind ? std::string(base::enum_text(*kind)) : name;
}

std::optional<Phase> phase_named(std::string_view name, const plan::Job& job) {
  if (const auto kind = base::enum_named<PhaseKind>(name)) return *kind;
  if (const auto task = workflow::find_task(job.workflow, name)) return *task;
  return std::nullopt;
}

bool is_in_phase(const Phase& phase, const plan::Job& job, const plan::Activity& step) {
  if (step.kind == plan::Activity::Kind::reallocation) return phase == Phase(PhaseKind::refit);
  if (plan::is_host_transfer(step)) return false;
  const TaskKind kind = job.workflow.tasks[step.task].kind;
  if (kind == TaskKind::rule) return false;
  if (const auto* task = std::get_if<workflow::TaskId>(&phase)) return task->index() == step.task;
  switch (std::get<PhaseKind>(phase)) {
    case PhaseKind::generation:
      return kind == TaskKind::generate;
    case PhaseKind::inference:
      return kind == TaskKind::infer;
    case PhaseKind::training:
    case PhaseKind::offload:
      return kind == TaskKind::train;
    case PhaseKind::refit:
      break;
  }
  return false;
}

double seconds_in_phase(const Phase& phase, const plan::Job& job, const plan::Activity& step,
                        const predict::ActivitySeconds& seconds) {
  if (!is_in_phase(phase, job, step)) return 0;
  double offload = 0;
  for (const predict::SecondsPart& part : seconds.parts)
    if (part.of == predict::SecondsOf::host_transfers) offload += part.seconds;
  if (phase == Phase(PhaseKind::offload)) return offload;
  return phase == Phase(PhaseKind::training) ? seconds.seconds - offload : seconds.seconds;
}

double phase_weight(const Measurement& row, double seconds) {
  return row.weight * (seconds >= 0.1 * row.seconds ? 0.5 : 0.1);
}

}  // namespace dovetail::measure
