#include "predict/simulated/task_traces.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cost/machine.h"
#include "cost/training.h"
#include "fuse/solve.h"
#include "pipeline/schedule/evaluate.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/simulated/ranks.h"
#include "simulate/step_clock.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::predict {

simulate::GenerationTask generation_task(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const cost::Machine machine = cost::machine_of(scenario.job.cluster, planned.mesh, scenario.software.efficiency);
  const double capacity =
      key_value_capacity(facts_of(scenario, task), planned, machine.gpu, scenario.job.software.engine);
  return {.facts = facts_of(scenario, task),
          .cluster = scenario.job.cluster,
          .mesh = planned.mesh,
          .layout = planned.layout,
          .engine = engine_in_use(planned.engine),
          .key_value_capacity = std::clamp(capacity, 0.0, static_cast<double>(machine.gpu.memory)),
          .efficiency = scenario.software.efficiency,
          .options = {.longest_first = planned.engine.longest_first},
          .task = static_cast<std::int32_t>(task)};
}

simulate::Generation generation_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned,
                                   const Draw& draw) {
  const workflow::SequenceCount& sequences = scenario.job.workflow.tasks[task].sequences;
  return simulate::simulate_generation(
      generation_task(scenario, task, planned),
      simulate::draw_samples(scenario.job.workload, sequences, draw.seed, draw.number));
}

namespace {

using base::Ticks;
using simulate::BarKind;
using simulate::Span;

/// Times of a micro-batch on each stage.
struct MicroBatches {
  std::int64_t count = 1;
  std::vector<Ticks> stages;
  std::vector<Ticks> launches;
  Ticks hop;
};

MicroBatches micro_batches_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned,
                              const std::optional<DistributedPacks>& dealt) {
  const cost::InferenceBatches batches =
      dealt ? cost::InferenceBatches{static_cast<double>(dealt->count), dealt->micro_batch}
            : cost::inference_batches(planned.layout, batch_of(scenario, task), planned.micro_batching);
  const cost::Machine machine = cost::machine_of(scenario.job.cluster, planned.mesh, scenario.software.efficiency);
  const cost::InferencePasses passes = cost::inference_passes(
      facts_of(scenario, task), planned.layout, batches.micro_batch, machine, scenario.software.efficiency);
  MicroBatches micro_batches;
  micro_batches.count = static_cast<std::int64_t>(std::ceil(batches.count));
  const double part = batches.count / static_cast<double>(micro_batches.count);
  for (const cost::PassSeconds& stage : passes.stages) {
    micro_batches.stages.push_back(std::max(Ticks(1), base::ticks_of_seconds(part * stage.sum())));
    micro_batches.launches.push_back(
        std::min(base::ticks_of_seconds(part * stage.launch), micro_batches.stages.back()));
  }
  micro_batches.hop = base::ticks_of_seconds(passes.hop);
  return micro_batches;
}

/// Returns the spans of a stage for micro-batches that arrive at `times`. Replaces each time by the end of its
/// micro-batch.
std::vector<Span> stage_spans(const MicroBatches& of, std::size_t stage, std::int32_t task, std::vector<Ticks>& times) {
  std::vector<Span> spans;
  Ticks now;
  for (std::size_t index = 0; index < times.size(); ++index) {
    const Ticks begin = std::max(now, times[index]);
    // The last part of the wait is the message's transit.
    const Ticks sent = stage > 0 ? std::max(now, times[index] - of.hop) : now;
    if (sent > now) spans.push_back({now, sent, BarKind::bubble, task, 0, {}});
    if (begin > sent) spans.push_back({sent, begin, BarKind::transfer, task, 0, {}});
    now = begin + of.stages[stage];
    spans.push_back({begin, now, BarKind::infer, task, static_cast<std::int64_t>(index), of.launches[stage]});
    times[index] = now;
  }
  return spans;
}

}  // namespace

simulate::Trace inference_trace(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const std::optional<DistributedPacks> dealt = distribute_packs(scenario, task, planned);
  const MicroBatches micro_batches = micro_batches_of(scenario, task, planned, dealt);
  const int each = planned.mesh.count / planned.layout.pipeline;
  simulate::Trace trace;
  std::vector<Ticks> times(static_cast<std::size_t>(micro_batches.count));
  for (std::size_t stage = 0; stage < micro_batches.stages.size(); ++stage) {
    if (stage > 0)
      for (Ticks& time : times) time += micro_batches.hop;
    simulate::Lane lane;
    for (int device = 0; device < each; ++device)
      lane.devices.push_back(planned.mesh.first + static_cast<int>(stage) * each + device);
    lane.spans = stage_spans(micro_batches, stage, static_cast<std::int32_t>(task), times);
    trace.lanes.push_back(std::move(lane));
  }
  trace.end = times.back();
  for (simulate::Lane& lane : trace.lanes)
    if (const Ticks end = lane.spans.back().end; end < trace.end)
      lane.spans.push_back({end, trace.end, BarKind::bubble, static_cast<std::int32_t>(task), 0, {}});
  Ranks ranks = ranks_of(scenario, task, planned);
  if (dealt) ranks.parts = dealt->ranks;
  return with_ranks(std::move(trace), {ranks});
}

namespace {

using base::Ticks;
using pipeline::Problem;
using simulate::BarKind;

/// Launch times of a model's ops, in ns: [stage].
struct LaunchTicks {
  std::vector<Ticks> forward;
  std::vector<Ticks> backward;
};

/// Returns the launch times, with `merged` stages of the task in one stage of the problem.
LaunchTicks launches_of(const cost::TrainingPasses& passes, std::size_t merged) {
  LaunchTicks launches;
  for (std::size_t begin = 0; begin < passes.chunks.size(); begin += merged) {
    Ticks forward;
    Ticks backward;
    for (std::size_t chunk = begin; chunk < begin + merged; ++chunk) {
      forward += base::ticks_within_seconds(passes.chunks[chunk].forward.launch);
      backward += base::ticks_within_seconds(passes.chunks[chunk].backward.launch);
    }
    launches.forward.push_back(forward);
    launches.backward.push_back(backward);
  }
  return launches;
}

/// Task of a model in the problem.
struct Trained {
  std::int32_t task = 0;
  LaunchTicks launches;
};

/// Returns the task's bar kind for a pipeline's bar kind. Halves of a backward pass and causes of bubbles are not
/// distinguished.
BarKind task_bar_kind(BarKind of_pipeline) {
  if (timeline::is_idle(of_pipeline)) return of_pipeline == BarKind::transfer ? BarKind::transfer : BarKind::bubble;
  switch (timeline::traits_of(of_pipeline).phase) {
    case pipeline::OpPhase::forward:
      return BarKind::forward;
    case pipeline::OpPhase::backward:
      return BarKind::backward;
    case pipeline::OpPhase::step:
      break;
  }
  return BarKind::optimizer;
}

simulate::Span span_of(const timeline::Bar& bar, const std::vector<timeline::Track>& tracks,
                       const std::vector<Trained>& models) {
  simulate::Span span{bar.begin, bar.end, task_bar_kind(bar.bar_kind), models.front().task, 0, {}};
  if (timeline::is_idle(bar.bar_kind)) return span;
  const Trained& model = models[static_cast<std::size_t>(tracks[static_cast<std::size_t>(bar.track)].model)];
  const auto stage = static_cast<std::size_t>(bar.stage);
  span.task = model.task;
  span.amount = bar.microbatch;
  if (span.bar_kind == BarKind::forward) span.launch = std::min(model.launches.forward[stage], bar.end - bar.begin);
  if (span.bar_kind == BarKind::backward) span.launch = std::min(model.launches.backward[stage], bar.end - bar.begin);
  return span;
}

/// Returns the devices of part `part` of `parts` of the mesh.
std::vector<int> devices_of(const cluster::Mesh& mesh, int part, int parts) {
  const int each = mesh.count / parts;
  std::vector<int> devices;
  for (int device = 0; device < each; ++device) devices.push_back(mesh.first + part * each + device);
  return devices;
}

/// Returns the schedule as a trace. The parts of `mesh` are the problem's devices. Adjacent idle bars of one kind
/// become one span.
simulate::Trace trace_of(const pipeline::Schedule& schedule, const cluster::Mesh& mesh,
                         const std::vector<Trained>& models) {
  const timeline::Timeline timeline = timeline::schedule_timeline(schedule.problem, pipeline::evaluate(schedule), "");
  simulate::Trace trace;
  trace.end = timeline.end;
  const int parts = static_cast<int>(timeline.lanes.size());
  const std::vector<const timeline::Counter*> held = timeline::drawn_counters(timeline);
  for (int part = 0; part < parts; ++part) {
    const auto from = static_cast<std::size_t>(part);
    simulate::Lane lane;
    lane.devices = devices_of(mesh, part, parts);
    for (const timeline::Bar& bar : timeline::bars_of(timeline, from)) {
      if (bar.begin == bar.end) continue;
      const simulate::Span span = span_of(bar, timeline.tracks, models);
      const bool continues =
          !lane.spans.empty() && simulate::is_idle(span.bar_kind) && lane.spans.back().bar_kind == span.bar_kind;
      if (continues)
        lane.spans.back().end = span.end;
      else
        lane.spans.push_back(span);
    }
    for (const auto& [time, memory] : held[from]->steps) lane.memory.emplace_back(time, memory.count());
    trace.lanes.push_back(std::move(lane));
  }
  return trace;
}

base::Result<fuse::Solved> solved(const Scenario& scenario, const Problem& problem, std::string_view solver,
                                  const FusedSearch& search) {
  fuse::SolveOptions options = search.brief ? brief_search(search.iterations) : fuse::SolveOptions{};
  options.chains = 1;
  options.iterations = search.iterations;
  // If iterations are fewer than usual, each part gets fewer, too.
  if (!search.brief && search.iterations < FusedSearch{}.iterations)
    options.iterations_alone = std::max<std::int64_t>(100'000, 500 * search.iterations);
  options.proof_work = 0;
  options.cancellation = scenario.cancellation;
  if (search.max_activations) options.memory_cap = base::Memory(*search.max_activations);
  auto answer = fuse::solve(problem, solver, options);
  if (answer.ok() || !search.max_activations || answer.error().failure != base::Failure::infeasible) return answer;
  options.memory_cap = std::nullopt;
  return fuse::solve(problem, solver, options);
}

base::Result<Ticks> makespan_of(const Scenario& scenario, const Problem& problem, std::string_view solver,
                                const FusedSearch& search) {
  DOVETAIL_TRY(const fuse::Solved answer, solved(scenario, problem, solver, search));
  return answer.solution.evaluation.makespan;
}

/// Returns the passes for the packs of the slowest rank.
cost::TrainingPasses passes_of(const Scenario& scenario, const TrainTask& train, const DistributedPacks& dealt) {
  const cost::Efficiency& efficiency = scenario.software.efficiency;
  return cost::training_passes(facts_of(scenario, train.task), train.planned.layout, dealt.count, dealt.micro_batch,
                               cost::machine_of(scenario.job.cluster, train.planned.mesh, efficiency), efficiency);
}

/// Returns the problem of a task's own pipeline with `passes` instead of `before`. Activations scale with the tokens.
/// An Error if the problem would be too large or too long.
base::Result<Problem> with_passes(Problem problem, const cost::TrainingPasses& before,
                                  const cost::TrainingPasses& passes) {
  const auto ticks = [](double seconds) { return std::max(Ticks(1), base::ticks_of_seconds(seconds)); };
  pipeline::Model& model = problem.models.front();
  model.microbatches = passes.micro_batches;
  for (std::size_t chunk = 0; chunk < passes.chunks.size(); ++chunk) {
    model.forward[chunk] = ticks(passes.chunks[chunk].forward.sum());
    model.backward[chunk] = ticks(passes.chunks[chunk].backward.sum());
    const double grown = passes.micro_batch.count / before.micro_batch.count;
    model.activation[chunk] = base::Memory(std::llround(grown * static_cast<double>(model.activation[chunk].count())));
  }
  std::fill(model.transfer_forward.begin(), model.transfer_forward.end(), ticks(passes.hop));
  model.transfer_backward = model.transfer_forward;
  if (const auto fault = pipeline::find_fault(problem))
    return base::bad_input(fmt::format("{} is not a valid pipeline: {}", model.name, *fault));
  return problem;
}

}  // namespace

base::Result<simulate::Trace> training_trace(const Scenario& scenario, const TrainTask& train) {
  DOVETAIL_TRY(Problem problem, training_problem(scenario, train));
  cost::TrainingPasses passes = training_passes(scenario, train);
  Ranks ranks = ranks_of(scenario, train.task, train.planned);
  if (const std::optional<DistributedPacks> dealt = distribute_packs(scenario, train.task, train.planned)) {
    ranks.parts = dealt->ranks;
    const cost::TrainingPasses before = std::exchange(passes, passes_of(scenario, train, *dealt));
    DOVETAIL_TRY(problem, with_passes(std::move(problem), before, passes));
  }
  const bool interleaved = train.planned.layout.virtual_stages > 1;
  DOVETAIL_TRY(const fuse::Solved answer, solved(scenario, problem, interleaved ? "interleaved-1f1b" : "1f1b", {}));
  simulate::Trace trace = trace_of(answer.schedule, train.planned.mesh, {{ranks.task, launches_of(passes, 1)}});
  return with_ranks(std::move(trace), {ranks});
}

base::Result<FusedTraining> fused_training_trace(const Scenario& scenario, const TrainTask& first,
                                                 const TrainTask& second, const FusedSearch& search) {
  DOVETAIL_TRY(const pipeline::FusedLayouts fused, fused_training_problem(scenario, first, second));
  DOVETAIL_TRY(fuse::Solved answer, solved(scenario, fused.problem, "auto", search));
  FusedTraining training;
  const auto merged = [&](int model) {
    return static_cast<std::size_t>(fused.merged_model == model ? fused.merged_stages : 1);
  };
  training.trace =
      trace_of(answer.schedule, first.planned.mesh,
               {{static_cast<std::int32_t>(first.task), launches_of(training_passes(scenario, first), merged(0))},
                {static_cast<std::int32_t>(second.task), launches_of(training_passes(scenario, second), merged(1))}});
  if (fused.merged_stages <= 1 && first.planned.layout.data == second.planned.layout.data)
    training.trace = with_ranks(std::move(training.trace), {ranks_of(scenario, first.task, first.planned),
                                                            ranks_of(scenario, second.task, second.planned)});
  training.schedule = std::make_shared<const pipeline::Schedule>(std::move(answer.schedule));
  training.bound = answer.bounds.makespan;
  training.peak = answer.solution.evaluation.peak_activation.count();
  DOVETAIL_TRY(training.apart, makespan_of(scenario, fused.problem, "1f1b", {}));
  Problem alone = fused.problem;
  std::int64_t times = 1;
  for (pipeline::Model& model : alone.models)
    times = std::max<std::int64_t>(times, std::exchange(model.minibatches, 1));
  DOVETAIL_TRY(const Ticks once, makespan_of(scenario, alone, "auto", search));
  training.mini_by_mini = once * times;
  return training;
}

}  // namespace dovetail::predict
