#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "pipeline/formats/flexfusion_trace_cells.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/instances.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::pipeline {
namespace {

using base::Error;
using base::Failure;
using base::FilePlace;
using base::Result;
using base::Status;

const Instance* find_equal_instance(const Problem& problem) {
  for (const Instance& instance : instances()) {
    Problem renamed = problem;
    if (renamed.models.size() != instance.problem.models.size()) continue;
    for (std::size_t m = 0; m < renamed.models.size(); ++m) renamed.models[m].name = instance.problem.models[m].name;
    if (renamed == instance.problem) return &instance;
  }
  return nullptr;
}

/// Replaces an inferred problem by the bundled instance that it equals, if any. Returns the note.
std::string name_inferred(Problem& problem) {
  if (const Instance* instance = find_equal_instance(problem)) {
    problem = instance->problem;
    return fmt::format("the problem was inferred from the trace: it is {}, {}", instance->name, instance->summary);
  }
  std::string models;
  for (const Model& model : problem.models)
    models += fmt::format("{}{} with {} replica{} of {} stage{} x {} micro-batch{}", models.empty() ? "" : ", ",
                          model.name, model.replicas.size(), model.replicas.size() == 1 ? "" : "s", model.stages(),
                          model.stages() == 1 ? "" : "s", model.microbatches, model.microbatches == 1 ? "" : "es");
  return "the problem was inferred from the trace: " + models;
}

/// Finds the first op in time, device by device, whose printed activation is not the sum held after it.
std::optional<Error> find_activation_mismatch(const Trace& trace, const Schedule& schedule, const std::string& path) {
  for (std::size_t device = 0; device < trace.devices.size(); ++device) {
    Memory held;
    for (const std::size_t row : rows_by_start(trace.devices[device])) {
      const TraceCell& cell = trace.devices[device][row];
      const OpLabel& label = schedule.devices[device][row].label;
      const Memory activation = schedule.problem.models[label.model.index()].activation[label.stage.index()];
      held = traits_of(label.kind).phase == OpPhase::forward ? held + activation : held - activation;
      if (std::abs((held - cell.held).count()) > trace_activation_tolerance.count())
        return Error{
            Failure::invalid, path, cell.place.line, cell.place.column,
            fmt::format("false activation: the file claims {} after {}; the actual value is {}",
                        base::format_memory(cell.held), describe(schedule.problem, label), base::format_memory(held))};
    }
  }
  return std::nullopt;
}

Result<ScheduledOp> make_op(const TraceCell& cell, const Problem& problem, const std::vector<Pipeline>& pipelines,
                            const std::string& path) {
  const auto error = [&path](FilePlace place, std::string message) {
    return Error{Failure::bad_input, path, place.line, place.column, std::move(message)};
  };
  if (static_cast<std::size_t>(cell.pipeline) >= pipelines.size())
    return error(
        cell.pipeline_place,
        fmt::format(
            "model {} does not exist; a trace calls each pipeline a model, and the problem has {}, numbered from 0",
            cell.pipeline, pipelines.size()));
  const Pipeline pipeline = pipelines[static_cast<std::size_t>(cell.pipeline)];
  const int stages = problem.models[pipeline.model.index()].stages();
  if (cell.stage >= 2 * stages)
    return error(cell.stage_place,
                 fmt::format("{} has no stage {}; 0 to {} are its forwards, {} to {} its backwards",
                             pipeline_name(problem, pipeline), cell.stage, stages - 1, stages, 2 * stages - 1));
  const bool forward = cell.stage < stages;
  const OpLabel label{forward ? OpKind::F : OpKind::B, pipeline.model, pipeline.replica,
                      StageId(forward ? cell.stage : 2 * stages - 1 - cell.stage), MicrobatchId(cell.microbatch)};
  return ScheduledOp{label, cell.start, cell.end};
}

Status check_expressible(const Problem& problem, const Trace& trace, const std::string& path) {
  if (const auto other = find_other_ops(problem, pass_kinds))
    return Error{Failure::bad_input, path, 0, 0,
                 fmt::format("{}, which a trace cannot express; use a problem without them", *other)};
  const auto devices = static_cast<std::size_t>(problem.devices);
  if (trace.devices.size() != devices) {
    const FilePlace place = trace.device_places[std::min(devices, trace.devices.size() - 1)];
    return Error{Failure::bad_input, path, place.line, place.column,
                 fmt::format("the trace has {} device lines; the problem has {} devices and needs a line for each",
                             trace.devices.size(), problem.devices)};
  }
  return {};
}

}  // namespace

Result<ScheduleFile> parse_trace(std::string_view content, const std::string& path, const Problem* problem) {
  DOVETAIL_TRY(const Trace trace,
               parse_trace_cells(content, path, problem ? std::optional(problem->time_unit) : std::nullopt));
  ScheduleFile file;
  if (problem) {
    file.schedule.problem = *problem;
    DOVETAIL_CHECK(check_expressible(*problem, trace, path));
  } else {
    DOVETAIL_TRY(file.schedule.problem, infer_problem(trace, path));
    file.notes.push_back(name_inferred(file.schedule.problem));
  }
  file.schedule.claims = trace.claims;
  file.makespan_place = trace.makespan_place;
  file.peak_activation_place = trace.peak_activation_place;
  file.devices_place = trace.device_places.front();
  file.device_places = trace.device_places;
  const std::vector<Pipeline> pipelines = pipelines_of(file.schedule.problem);
  for (const auto& device : trace.devices) {
    auto& ops = file.schedule.devices.emplace_back();
    auto& places = file.places.emplace_back();
    for (const TraceCell& cell : device) {
      DOVETAIL_TRY(const ScheduledOp op, make_op(cell, file.schedule.problem, pipelines, path));
      ops.push_back(op);
      places.push_back(cell.place);
    }
  }
  file.activation_mismatch = find_activation_mismatch(trace, file.schedule, path);
  return file;
}

namespace {

/// Explains why a trace cannot express the schedule; nullopt if it can.
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

/// Formats a value like C's %f: always six decimals.
std::string six_decimals(Memory memory) {
  return fmt::format("{}.{:06}", memory.count() / 1'000'000, memory.count() % 1'000'000);
}

/// [model] Number of its first pipeline.
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
        fmt::format("a FlexFusion trace cannot express this schedule: {}; use a dovetail/schedule@1 file", *obstacle));
  const std::vector<int> first_pipeline = first_pipelines(schedule.problem);
  std::string text;
  for (const auto& device : schedule.devices) text += device_line(schedule.problem, device, first_pipeline);
  return text + summary(schedule);
}

}  // namespace dovetail::pipeline
