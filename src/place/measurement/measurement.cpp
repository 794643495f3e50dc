#include "place/measurement/measurement.h"

namespace dovetail::place {

using workflow::TaskKind;

const std::vector<std::string_view>& phase_kinds() {
  static const std::vector<std::string_view> kinds = {"generation", "scoring", "training", "offload", "refit"};
  return kinds;
}

bool is_in_phase(std::string_view phase, const plan::Job& job, const plan::Step& step) {
  if (step.kind == plan::Step::Kind::reallocation) return phase == "refit";
  if (plan::is_host_transfer(step)) return false;
  const workflow::Task& task = job.workflow.tasks[step.task];
  switch (task.kind) {
    case TaskKind::generate:
      return phase == "generation" || phase == task.name;
    case TaskKind::infer:
      return phase == "scoring" || phase == task.name;
    case TaskKind::train:
      return phase == "training" || phase == "offload" || phase == task.name;
    case TaskKind::rule:
      break;
  }
  return false;
}

double seconds_in_phase(std::string_view phase, const plan::Job& job, const plan::Step& step, const StepSeconds& seconds) {
  if (!is_in_phase(phase, job, step)) return 0;
  double offload = 0;
  for (const SecondsPart& part : seconds.parts)
    if (part.name == host_transfers) offload += part.seconds;
  if (phase == "offload") return offload;
  return phase == "training" ? seconds.seconds - offload : seconds.seconds;
}

double phase_weight(const Measurement& row, double seconds) { return row.weight * (seconds >= 0.1 * row.seconds ? 0.5 : 0.1); }

}  // namespace dovetail::place
