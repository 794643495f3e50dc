#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "pipeline/formats/flexfusion_trace.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::pipeline {
namespace {

/// Why a trace cannot say the schedule, if it cannot.
std::optional<std::string> find_obstacle(const Schedule& schedule) {
  for (const Model& model : schedule.problem.models) {
    if (auto other = find_other_ops(model, pass_kinds)) return other;
    for (const auto& replica : model.replicas)
      if (!on_distinct_devices(replica)) return fmt::format("model {} has several stages on one device", model.name);
  }
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    if (schedule.devices[device].empty()) return fmt::format("device {} has no ops", device);
    for (const ScheduledOp& op : schedule.devices[device])
      if (traits_of(op.label.kind).backward == BackwardPart::half)
        return fmt::format("{} is half of a split backward", describe(schedule.problem, op.label));
  }
  return std::nullopt;
}

/// As C's %f prints it: always six decimals.
std::string six_decimals(Memory memory) {
  return fmt::format("{}.{:06}", memory.count() / 1'000'000, memory.count() % 1'000'000);
}

/// The number of each model's first pipeline.
std::vector<int> first_pipelines(const Problem& problem) {
  std::vector<int> first;
  int next = 0;
  for (const Model& model : problem.models) {
    first.push_back(next);
    next += static_cast<int>(model.replicas.size());
  }
  return first;
}

std::string device_line(const Problem& problem, std::vector<ScheduledOp> ops, const std::vector<int>& first_pipeline) {
  std::sort(ops.begin(), ops.end(), [](const ScheduledOp& a, const ScheduledOp& b) { return a.start < b.start; });
  std::string line;
  Memory held;
  for (const ScheduledOp& op : ops) {
    const Model& model = problem.models[op.label.model.index()];
    const Memory activation = model.activation[op.label.stage.index()];
    const bool forward = traits_of(op.label.kind).phase == OpPhase::forward;
    held = forward ? held + activation : held - activation;
    line += fmt::format("{}[{}, {}, {}, {}, {}, {}]", line.empty() ? "" : ", ",
                        first_pipeline[op.label.model.index()] + op.label.replica.value, op.label.microbatch.value,
                        forward ? op.label.stage.value : 2 * model.stages() - 1 - op.label.stage.value,
                        base::format_time(op.start, problem.time_unit), base::format_time(op.end, problem.time_unit),
                        six_decimals(held));
  }
  return line + "\n";
}

std::string summary(const Schedule& schedule) {
  const Evaluation evaluation = evaluate(schedule).evaluation;
  const TimeUnit unit = schedule.problem.time_unit;
  std::string text;
  if (const auto bound = schedule.claims.bound_makespan) {
    text += fmt::format("\nTheoretically best:\nE2E time usage: {}\n", base::format_time(*bound, unit));
    if (const auto peak = schedule.claims.bound_peak_activation)
      text += fmt::format("Peak memory usage: {}\n", six_decimals(*peak));
  }
  const double bubbles = 100 * bubble_rate(evaluation);
  text += fmt::format(
      "\nOurs:\nE2E time usage: {}\nPeak memory usage: {}\nUtilization: {:.2f}%\nBubble rate: {:.2f}%\n",
      base::format_time(evaluation.makespan, unit), six_decimals(evaluation.peak_activation), 100 - bubbles, bubbles);
  return text;
}

}  // namespace

base::Result<std::string> schedule_to_trace(const Schedule& schedule) {
  if (const auto obstacle = find_obstacle(schedule))
    return base::bad_input(
        fmt::format("a FlexFusion trace cannot hold this schedule: {}; a dovetail/schedule@1 file can", *obstacle));
  const std::vector<int> first_pipeline = first_pipelines(schedule.problem);
  std::string text;
  for (const auto& device : schedule.devices) text += device_line(schedule.problem, device, first_pipeline);
  return text + summary(schedule);
}

}  // namespace dovetail::pipeline
