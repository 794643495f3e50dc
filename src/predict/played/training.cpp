#include "predict/played/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cost/machine.h"
#include "fuse/solve.h"
#include "pipeline/schedule/evaluate.h"
#include "predict/played/packs.h"
#include "predict/played/ranks.h"
#include "simulate/step_clock.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::predict {
namespace {

using base::Ticks;
using pipeline::Problem;
using simulate::BarKind;

/// What launches take of the ops of a model, in ns: [stage].
struct LaunchTicks {
  std::vector<Ticks> forward;
  std::vector<Ticks> backward;
};

/// With `merged` stages of the task in one of the problem.
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

/// A model of the problem: which task it is.
struct Trained {
  std::int32_t task = 0;
  LaunchTicks launches;
};

/// What a task does while a pipeline of it does that: halves of a backward are no matter of its own, nor are causes of
/// bubbles.
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

/// The devices of the mesh's part number `part` of `parts`.
std::vector<int> devices_of(const cluster::Mesh& mesh, int part, int parts) {
  const int each = mesh.count / parts;
  std::vector<int> devices;
  for (int device = 0; device < each; ++device) devices.push_back(mesh.first + part * each + device);
  return devices;
}

/// The schedule as a trace, the parts of `mesh` being the problem's devices. Idle bars next to each other of one bar
/// kind become one span.
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
      const bool goes_on =
          !lane.spans.empty() && simulate::is_idle(span.bar_kind) && lane.spans.back().bar_kind == span.bar_kind;
      if (goes_on)
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
  // Who wants fewer iterations of the whole than usual wants fewer of its parts.
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

/// Of the packs that the slowest rank was dealt.
cost::TrainingPasses passes_of(const Scenario& scenario, const TrainTask& train, const DealtPacks& dealt) {
  const cost::Efficiency& efficiency = scenario.software.efficiency;
  return cost::training_passes(facts_of(scenario, train.task), train.planned.layout, dealt.count, dealt.micro_batch,
                               cost::machine_of(scenario.job.cluster, train.planned.mesh, efficiency), efficiency);
}

/// The problem of a task's own pipeline with these passes in place of `before`; activations grow with the tokens. An
/// Error where a problem cannot be as large or as long.
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
    return base::bad_input(fmt::format("{} is no sound pipeline: {}", model.name, *fault));
  return problem;
}

}  // namespace

base::Result<simulate::Trace> training_trace(const Scenario& scenario, const TrainTask& train) {
  DOVETAIL_TRY(Problem problem, training_problem(scenario, train));
  cost::TrainingPasses passes = training_passes(scenario, train);
  Ranks ranks = ranks_of(scenario, train.task, train.planned);
  if (const std::optional<DealtPacks> dealt = dealt_packs(scenario, train.task, train.planned)) {
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
