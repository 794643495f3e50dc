#include "predict/closed_form/training_phase.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "cost/machine.h"
#include "cost/training_memory.h"
#include "fuse/bounds/bounds.h"
#include "fuse/constructions/constructions.h"
#include "fuse/solve.h"
#include "plan/fusion.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::predict {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::FusedLayouts;
using pipeline::Model;
using pipeline::ModelLayout;
using pipeline::Problem;

/// Rounds to at least one tick. find_fault rejects ops that are too long for a problem.
Ticks ticks_of_op(double seconds) { return std::max(Ticks(1), base::ticks_of_seconds(seconds)); }

const std::string& name_of(const Scenario& scenario, const TrainTask& train) {
  return scenario.job.workflow.tasks[train.task].name;
}

/// Arguments of the cost functions for a train task.
struct Arguments {
  const cost::ModelFacts& facts;
  const llm::Layout& layout;
  cost::Batch batch;
  cost::Stepping stepping;
  cost::Machine machine;
  const cost::Efficiency& efficiency;
};

Arguments arguments_of(const Scenario& scenario, const TrainTask& train) {
  DOVETAIL_ASSERT(scenario.job.workflow.tasks[train.task].kind == workflow::TaskKind::train);
  const workflow::Task& task = scenario.job.workflow.tasks[train.task];
  const cost::Conventions& conventions = scenario.software.conventions;
  return {facts_of(scenario, train.task),
          train.planned.layout,
          batch_of(scenario, train.task),
          {.mini_batches = static_cast<int>(workflow::optimizer_steps_of(task, scenario.job.workload)),
           .micro_batching = train.planned.micro_batching,
           .host_share = host_share(train.planned, conventions),
           .gradients_follow = conventions.gradients_follow,
           .reduced_bytes = static_cast<double>(conventions.reduced_bytes),
           .step_bytes = static_cast<double>(conventions.step_bytes)},
          cost::machine_of(scenario.job.cluster, train.planned.mesh, scenario.software.efficiency),
          scenario.software.efficiency};
}

cost::TrainingPasses passes_of(const Arguments& of) {
  return cost::training_passes(of.facts, of.layout, of.batch, of.stepping, of.machine, of.efficiency);
}

cost::TrainingSeconds closed_form(const Arguments& of) {
  return cost::training_seconds(of.facts, of.layout, of.batch, of.stepping, of.machine, of.efficiency);
}

/// Returns the bytes that a micro-batch keeps on each stage.
std::vector<double> stage_activations(const Scenario& scenario, const Arguments& of, const llm::Tokens& micro_batch) {
  cost::TrainingShape shape;
  shape.sequence_length = scenario.lengths.longest();
  shape.packed_tokens = std::max<std::int64_t>(1, std::llround(micro_batch.count));
  shape.in_flight.assign(static_cast<std::size_t>(of.layout.pipeline), 1.0);
  std::vector<double> bytes;
  for (const cost::StageMemory& stage :
       cost::training_memory(of.facts.model, of.layout, shape, scenario.software.conventions).stages)
    bytes.push_back(static_cast<double>(stage.parts.activations));
  return bytes;
}

/// Returns the activations of each [chunk]: those of its stage, divided among the chunks by layers.
std::vector<Memory> chunk_activations(const Scenario& scenario, const Arguments& of, const llm::Tokens& micro_batch) {
  const std::vector<double> of_stage = stage_activations(scenario, of, micro_batch);
  std::vector<Memory> activations(static_cast<std::size_t>(of.layout.pipeline * of.layout.virtual_stages));
  for (int stage = 0; stage < of.layout.pipeline; ++stage) {
    const double layers = std::max(1.0, cost::layers_of_stage(of.facts, of.layout, stage).layers());
    const std::vector<llm::Chunk> chunks = llm::chunks_of(of.layout, of.facts.model, stage);
    for (std::size_t round = 0; round < chunks.size(); ++round) {
      const auto own = static_cast<double>(chunks[round].end - chunks[round].begin);
      activations[round * of_stage.size() + static_cast<std::size_t>(stage)] =
          Memory(std::llround(of_stage[static_cast<std::size_t>(stage)] * own / layers));
    }
  }
  return activations;
}

/// Returns the task's pipeline without its devices.
Model model_of(const Scenario& scenario, const TrainTask& train) {
  const Arguments of = arguments_of(scenario, train);
  const cost::TrainingPasses passes = passes_of(of);
  const cost::TrainingSeconds closed = closed_form(of);
  Model model;
  model.name = name_of(scenario, train);
  model.microbatches = passes.micro_batches;
  model.minibatches = of.stepping.mini_batches;
  for (const cost::ChunkPasses& chunk : passes.chunks) {
    model.forward.push_back(ticks_of_op(chunk.forward.sum()));
    model.backward.push_back(ticks_of_op(chunk.backward.sum()));
  }
  model.activation = chunk_activations(scenario, of, passes.micro_batch);
  model.transfer_forward.assign(passes.chunks.size() - 1, ticks_of_op(passes.hop));
  model.transfer_backward = model.transfer_forward;
  const double steps = static_cast<double>(of.stepping.mini_batches) * of.layout.virtual_stages;
  model.step.assign(passes.chunks.size(), ticks_of_op((closed.gradients + closed.optimizer) / steps));
  // Trainers clip by the norm of all gradients, so steps wait for all stages.
  model.step_after = pipeline::StepAfter::model;
  // Each replica steps its part of the optimizer, then all gather the weights.
  if (of.layout.zero > 0 && of.layout.data > 1) model.step_before = pipeline::StepBefore::replicas;
  return model;
}

ModelLayout layout_of(const TrainTask& train, const Model& model) {
  const llm::Layout& layout = train.planned.layout;
  return {model.name,         layout.data,   layout.pipeline, layout.tensor * layout.context,
          model.microbatches, model.forward, model.backward,  model.activation};
}

/// Copies messages, mini-batches and steps from a task's own pipeline to its fused pipeline, which has `merged` stages
/// in one.
void complete(Model& fused, const Model& own, int merged) {
  const auto stages = static_cast<std::size_t>(fused.stages());
  fused.minibatches = own.minibatches;
  fused.step.assign(stages, own.step.front());
  fused.step_after = own.step_after;
  fused.step_before = own.step_before;
  if (own.transfer_forward.empty()) return;
  const Ticks hop = own.transfer_forward.front();
  fused.transfer_forward.assign(stages - 1, hop);
  fused.transfer_backward.assign(stages - 1, hop);
  for (Ticks& forward : fused.forward) forward += hop * (merged - 1);
  for (Ticks& backward : fused.backward) backward += hop * (merged - 1);
}

/// Time of a pipeline stage, and of the stages before and after it.
struct StageSpan {
  Ticks head;
  Ticks minibatch;  ///< passes of one mini-batch
  Ticks tail;
};

/// Returns the spans of all stages: [stage].
std::vector<StageSpan> spans_of(const Model& model) {
  std::vector<StageSpan> spans;
  Ticks head, tail;
  for (std::size_t stage = 0; stage < model.forward.size(); ++stage) {
    spans.push_back({head, (model.forward[stage] + model.backward[stage]) * model.microbatches, tail});
    if (stage + 1 == model.forward.size()) break;
    head += model.forward[stage] + (model.transfer_forward.empty() ? Ticks(0) : model.transfer_forward[stage]);
    tail += model.backward[stage] + (model.transfer_backward.empty() ? Ticks(0) : model.transfer_backward[stage]);
  }
  return spans;
}

Ticks work_of(const Model& model, const std::vector<StageSpan>& spans, std::size_t stage) {
  return (spans[stage].minibatch + model.step[stage]) * model.minibatches;
}

/// Returns a lower bound on every schedule of the problem. A mini-batch returns to the first stage, which steps before
/// the next mini-batch begins there.
Ticks floor_of(const Problem& problem) {
  struct OnDevice {
    Ticks head = Ticks::max();
    Ticks work;
  };
  std::vector<OnDevice> devices(static_cast<std::size_t>(problem.devices));
  Ticks least;
  for (const Model& model : problem.models) {
    const std::vector<StageSpan> spans = spans_of(model);
    for (const StageSpan& span : spans)
      least = std::max(least, (span.head + span.minibatch + span.tail + model.step.front()) * model.minibatches);
    for (const std::vector<pipeline::DeviceId>& replica : model.replicas)
      for (std::size_t stage = 0; stage < replica.size(); ++stage) {
        OnDevice& here = devices[replica[stage].index()];
        here.head = std::min(here.head, spans[stage].head);
        here.work += work_of(model, spans, stage);
      }
  }
  for (const OnDevice& here : devices)
    if (here.work > Ticks(0)) least = std::max(least, here.head + here.work);
  return least;
}

}  // namespace

cost::TrainingPasses training_passes(const Scenario& scenario, const TrainTask& train) {
  return passes_of(arguments_of(scenario, train));
}

cost::TrainingSeconds closed_training_seconds(const Scenario& scenario, const TrainTask& train) {
  return closed_form(arguments_of(scenario, train));
}

base::Result<Problem> training_problem(const Scenario& scenario, const TrainTask& train) {
  Problem problem;
  problem.time_unit = pipeline::TimeUnit::ns;
  problem.devices = train.planned.layout.pipeline;
  problem.resident.resize(static_cast<std::size_t>(problem.devices));
  problem.models.push_back(model_of(scenario, train));
  Model& model = problem.models.front();
  std::vector<pipeline::DeviceId>& devices = model.replicas.emplace_back();
  for (int chunk = 0; chunk < model.stages(); ++chunk) devices.emplace_back(chunk % problem.devices);
  if (const auto fault = pipeline::find_fault(problem))
    return base::bad_input(fmt::format("{} is not a valid pipeline: {}", model.name, *fault));
  return problem;
}

base::Result<FusedLayouts> fused_training_problem(const Scenario& scenario, const TrainTask& first,
                                                  const TrainTask& second) {
  if (const auto fault =
          plan::find_training_fault(scenario.job, {first.task, second.task}, first.planned, second.planned))
    return base::bad_input(
        fmt::format("{} and {} cannot be fused: {}", name_of(scenario, first), name_of(scenario, second), *fault));
  const Model own[2] = {model_of(scenario, first), model_of(scenario, second)};
  FusedLayouts fused;
  DOVETAIL_TRY(fused,
               pipeline::fuse_layouts(layout_of(first, own[0]), layout_of(second, own[1]), pipeline::TimeUnit::ns));
  for (int index = 0; index < 2; ++index)
    complete(fused.problem.models[static_cast<std::size_t>(index)], own[index],
             index == fused.merged_model ? fused.merged_stages : 1);
  if (const auto fault = pipeline::find_fault(fused.problem))
    return base::bad_input(
        fmt::format("{} and {} do not form valid fused pipelines: {}", own[0].name, own[1].name, *fault));
  return fused;
}

base::Result<pipeline::Schedule> training_schedule(const Scenario& scenario, const TrainTask& train) {
  DOVETAIL_TRY(const Problem problem, training_problem(scenario, train));
  return schedule_alone(problem, train.planned.layout);
}

base::Result<pipeline::Schedule> schedule_alone(const Problem& problem, const llm::Layout& layout) {
  const bool interleaved = layout.virtual_stages > 1;
  const fuse::Answer answer = interleaved ? fuse::solve_interleaved_1f1b(problem, {}) : fuse::solve_1f1b(problem, {});
  if (const auto* none = std::get_if<fuse::NotApplicable>(&answer)) return base::bad_input(none->why);
  const auto& solution = std::get<fuse::Solution>(answer);
  return pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation);
}

base::Result<double> scheduled_training_seconds(const Scenario& scenario, const TrainTask& train) {
  DOVETAIL_TRY(const pipeline::Schedule schedule, training_schedule(scenario, train));
  return base::seconds_of_ticks(schedule.claims.makespan.value());
}

base::Result<pipeline::Schedule> serial_training_schedule(const Scenario& scenario, const TrainTask& first,
                                                          const TrainTask& second) {
  FusedLayouts fused;
  DOVETAIL_TRY(fused, fused_training_problem(scenario, first, second));
  DOVETAIL_TRY(fuse::Solved solved, fuse::solve(fused.problem, "1f1b"));
  return std::move(solved.schedule);
}

base::Result<double> fused_training_bound(const Scenario& scenario, const TrainTask& first, const TrainTask& second) {
  FusedLayouts fused;
  DOVETAIL_TRY(fused, fused_training_problem(scenario, first, second));
  return base::seconds_of_ticks(fuse::bounds_of(fused.problem).makespan);
}

base::Result<double> fused_training_floor(const Scenario& scenario, const TrainTask& first, const TrainTask& second) {
  FusedLayouts fused;
  DOVETAIL_TRY(fused, fused_training_problem(scenario, first, second));
  return base::seconds_of_ticks(floor_of(fused.problem));
}

StageWork stage_work(const Scenario& scenario, const TrainTask& train) {
  const Model model = model_of(scenario, train);
  const std::vector<StageSpan> spans = spans_of(model);
  const int stages = train.planned.layout.pipeline;
  std::vector<Ticks> work(static_cast<std::size_t>(stages));
  for (std::size_t chunk = 0; chunk < spans.size(); ++chunk) work[chunk % work.size()] += work_of(model, spans, chunk);
  StageWork result;
  for (const Ticks here : work) {
    result.busiest = std::max(result.busiest, base::seconds_of_ticks(here));
    result.mean += base::seconds_of_ticks(here) / stages;
  }
  return result;
}

fuse::SolveOptions brief_search(std::int64_t iterations) {
  fuse::SolveOptions options;
  options.chains = 1;
  options.iterations = iterations;
  // Half as many iterations make schedules up to 1% longer; five times as many make them 0.5% shorter.
  options.iterations_alone = 100'000;
  options.brief = true;
  options.proof_work = 0;
  return options;
}

base::Result<FusedSchedule> fused_schedule(const Scenario& scenario, const TrainTask& first, const TrainTask& second,
                                           std::int64_t iterations, std::optional<std::int64_t> max_activations) {
  FusedLayouts fused;
  DOVETAIL_TRY(fused, fused_training_problem(scenario, first, second));
  fuse::SolveOptions options = brief_search(iterations);
  options.cancellation = scenario.cancellation;
  if (max_activations) options.memory_cap = Memory(*max_activations);
  DOVETAIL_TRY(fuse::Solved solved, fuse::solve(fused.problem, "auto", options));
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  return FusedSchedule{std::make_shared<const pipeline::Schedule>(std::move(solved.schedule)),
                       base::seconds_of_ticks(evaluation.makespan), base::seconds_of_ticks(solved.bounds.makespan),
                       evaluation.peak_activation.count()};
}

}  // namespace dovetail::predict
