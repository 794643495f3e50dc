#include "predict/simulated/simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/result.h"
#include "cluster/cluster.h"
#include "cluster/collective.h"
#include "plan/iteration_graph.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/closed_form/intra_stage.h"
#include "predict/simulated/inter_stage.h"
#include "predict/simulated/memory.h"
#include "predict/simulated/task_traces.h"
#include "realloc/cost.h"
#include "realloc/plan.h"
#include "simulate/iteration.h"
#include "simulate/migration.h"
#include "simulate/step_clock.h"

namespace dovetail::predict {
namespace {
using base::Ticks;
using simulate::BarKind;
using simulate::DeviceTransfer;
using workflow::TaskKind;

std::int32_t number_of(std::size_t task) { return static_cast<std::int32_t>(task); }

/// Inserts a span at the beginning of each lane.
void prepend(simulate::Trace& trace, Ticks length, BarKind bar_kind, std::size_t task) {
  if (length == Ticks(0)) return;
  trace.end += length;
  for (simulate::Lane& lane : trace.lanes) {
    for (simulate::Span& span : lane.spans) {
      span.begin += length;
      span.end += length;
    }
    for (auto& [time, bytes] : lane.memory) time += length;
    lane.spans.insert(lane.spans.begin(), {Ticks(0), length, bar_kind, number_of(task), 0, {}});
  }
}

void append(simulate::Trace& trace, Ticks length, BarKind bar_kind, std::size_t task) {
  if (length == Ticks(0)) return;
  const Ticks begin = trace.end;
  trace.end += length;
  for (simulate::Lane& lane : trace.lanes) lane.spans.push_back({begin, trace.end, bar_kind, number_of(task), 0, {}});
}

/// Returns a trace in which the activity's devices prepare its transfers for the time `length`.
simulate::Trace preparation(Ticks length, const simulate::Activity& activity) {
  simulate::Trace trace;
  trace.end = length;
  if (length == Ticks(0)) return trace;
  simulate::Lane& lane = trace.lanes.emplace_back();
  for (const cluster::Mesh& mesh : activity.devices)
    for (int device = mesh.first; device < mesh.first + mesh.count; ++device) lane.devices.push_back(device);
  std::sort(lane.devices.begin(), lane.devices.end());
  lane.devices.erase(std::unique(lane.devices.begin(), lane.devices.end()), lane.devices.end());
  lane.spans.push_back({Ticks(0), length, BarKind::reallocation, activity.task, 0, {}});
  return trace;
}

/// Adds the transfers of a weight sync. Each device of the engine receives the full model over its own link, inside the
/// node if the engine has only one node.
void add_weight_sync(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& from,
                     simulate::Activity& activity) {
  const cost::ModelFacts& facts = facts_of(scenario, from.task);
  const cluster::Mesh engine = plan.tasks[from.task].mesh;
  const cluster::Mesh trained = plan.tasks[from.train].mesh;
  const cost::Efficiency& efficiency = scenario.software.efficiency;
  const Ticks all = base::ticks_of_seconds(activity_seconds(scenario, plan, from).seconds);
  const Ticks waking =
      std::min(all, base::ticks_of_seconds(efficiency.refit + facts.tensors * efficiency.refit_tensor));
  activity.trace = preparation(waking, activity);
  const bool between = cluster::nodes_of(scenario.job.cluster, engine) > 1;
  constexpr std::int64_t bytes_an_element = 2;
  const std::int64_t bytes = facts.parameters.all * bytes_an_element;
  for (int device = engine.first; device < engine.first + engine.count; ++device)
    activity.transfers.push_back({DeviceTransfer::no_device, device, between, all - waking, bytes});
  if (cluster::overlap(engine, trained)) return;
  for (int device = trained.first; device < trained.first + trained.count; ++device)
    activity.transfers.push_back({device, DeviceTransfer::no_device, between, all - waking, 0});
}

/// Returns the bytes that each device sends to each other device, over all bundles.
std::map<std::pair<int, int>, std::int64_t> pairs_of(const realloc::Plan& moves) {
  std::map<std::pair<int, int>, std::int64_t> pairs;
  for (const realloc::Flow& flow : moves.flows)
    pairs[{flow.from.value, flow.to.value}] += (flow.end - flow.begin) * moves.options.element_bytes;
  return pairs;
}

void add_moves(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& from,
               simulate::Activity& activity) {
  const auto [moves, links] = reallocation(scenario, plan, from);
  std::map<std::pair<int, bool>, Ticks> busy;  // by sending (-device - 1) or receiving (device), and level
  Ticks busiest;
  for (const auto& [pair, bytes] : pairs_of(moves)) {
    const bool between =
        moves.node_of[static_cast<std::size_t>(pair.first)] != moves.node_of[static_cast<std::size_t>(pair.second)];
    const cluster::Link& link = between ? links.between : links.inside;
    const std::int64_t messages = (bytes + moves.options.bucket - 1) / moves.options.bucket;
    const auto count = static_cast<double>(messages);
    const Ticks alone = base::ticks_of_seconds(count * link.latency +
                                               (static_cast<double>(bytes) + count * link.half_size) / link.bandwidth);
    activity.transfers.push_back({pair.first, pair.second, between, alone, bytes});
    busiest = std::max({busiest, busy[{-pair.first - 1, between}] += alone, busy[{pair.second, between}] += alone});
  }
  const Ticks all = base::ticks_of_seconds(realloc::reallocation_seconds(moves, links).seconds);
  activity.trace = preparation(std::max(Ticks(0), all - busiest), activity);
}

/// Parts of a task's overhead that belong to its own activity.
struct Overhead {
  Ticks hand_over;
  Ticks load;
  Ticks unload;
};

/// Divides host transfers: half of them are unloads if `gives_back` (training, and an engine that sleeps).
Overhead overhead_of(const OverheadSeconds& seconds, bool gives_back) {
  const Ticks transfers = base::ticks_of_seconds(seconds.host_transfers);
  const Ticks back(gives_back ? transfers.count() / 2 : 0);
  return {base::ticks_of_seconds(seconds.hand_over), transfers - back, back};
}

/// Returns the overhead without transfers that are separate activities in `graph`.
Overhead overhead_of(const Scenario& scenario, const plan::Plan& plan, const plan::IterationGraph& graph,
                     std::size_t task) {
  const bool trains = scenario.job.workflow.tasks[task].kind == TaskKind::train;
  Overhead overhead = overhead_of(overhead_seconds(scenario, task, plan.tasks[task]), trains);
  for (const plan::Activity& activity : graph.activities) {
    if (activity.task != task) continue;
    if (activity.kind == plan::Activity::Kind::load) overhead.load = Ticks(0);
    if (activity.kind == plan::Activity::Kind::unload) overhead.unload = Ticks(0);
  }
  return overhead;
}

/// Returns the spans and memory of `first`, followed by those of `second` on the same devices.
simulate::Trace after(const simulate::Trace& first, const simulate::Trace& second) {
  std::map<std::pair<const simulate::Lane*, const simulate::Lane*>, std::vector<int>> parts;
  for (const simulate::Lane& one : first.lanes)
    for (const simulate::Lane& two : second.lanes)
      for (const int device : one.devices)
        if (std::find(two.devices.begin(), two.devices.end(), device) != two.devices.end())
          parts[{&one, &two}].push_back(device);
  simulate::Trace both;
  both.end = first.end + second.end;
  for (auto& [lanes, devices] : parts) {
    simulate::Lane& lane = both.lanes.emplace_back(*lanes.first);
    lane.devices = std::move(devices);
    for (simulate::Span span : lanes.second->spans) {
      span.begin += first.end;
      span.end += first.end;
      lane.spans.push_back(span);
    }
    for (const auto& [time, bytes] : lanes.second->memory) lane.memory.emplace_back(first.end + time, bytes);
  }
  return both;
}

simulate::Trace with_overhead(const Overhead& overhead, std::size_t task, simulate::Trace work) {
  prepend(work, overhead.load, BarKind::loading, task);
  prepend(work, overhead.hand_over, BarKind::hand_over, task);
  append(work, overhead.unload, BarKind::loading, task);
  return work;
}

/// Returns the stage without migration: generation, then inference in sequence. Lanes record stage_memory.
simulate::Trace one_after_the_other(const Scenario& scenario, const plan::Plan& plan,
                                    const plan::GenerationStage& stage, const Draw& draw) {
  const StageMemory memory = stage_memory(scenario, plan, stage);
  simulate::Trace trace = generation_of(scenario, stage.generate, plan.tasks[stage.generate], draw).trace;
  for (simulate::Lane& lane : trace.lanes)
    for (auto& [time, bytes] : lane.memory) bytes += memory.engine;
  for (std::size_t index = 0; index < stage.infer.size(); ++index) {
    const std::size_t task = stage.infer[index];
    const Overhead overhead = overhead_of(overhead_seconds(scenario, task, plan.tasks[task]), false);
    simulate::Trace inference = with_overhead(overhead, task, inference_trace(scenario, task, plan.tasks[task]));
    for (simulate::Lane& lane : inference.lanes) lane.memory = {{Ticks(0), memory.inference[index]}};
    trace = after(trace, inference);
  }
  return trace;
}

/// Returns an infer task, a train task or a rule with its overhead (overhead_seconds): hand-over, loads and, for a
/// train task, unloads, which are half of its transfers. Leaves out transfers that are separate activities in `graph`.
/// Errors as in training_problem. REQUIRES: the task does not generate.
base::Result<simulate::Activity> task_activity(const Scenario& scenario, const plan::Plan& plan,
                                               const plan::IterationGraph& graph, std::size_t task) {
  const plan::TaskPlan& planned = plan.tasks[task];
  simulate::Activity activity;
  activity.task = number_of(task);
  switch (scenario.job.workflow.tasks[task].kind) {
    case TaskKind::rule:
      activity.trace.end = base::ticks_of_seconds(task_seconds(scenario, task, planned).seconds);
      return activity;
    case TaskKind::generate:
      DOVETAIL_ASSERT(false);
    case TaskKind::infer:
      activity.trace =
          with_overhead(overhead_of(scenario, plan, graph, task), task, inference_trace(scenario, task, planned));
      break;
    case TaskKind::train: {
      DOVETAIL_TRY(simulate::Trace trace, training_trace(scenario, {task, planned}));
      activity.trace = with_overhead(overhead_of(scenario, plan, graph, task), task, std::move(trace));
      break;
    }
  }
  activity.devices[0] = planned.mesh;
  return activity;
}

struct GenerationActivity {
  simulate::Activity activity;
  std::optional<simulate::Migration> migration = std::nullopt;  ///< set if samples migrate at the plan's threshold
  /// Time between the last generated sample and the end; successors of generation alone begin then (plan::release).
  base::Ticks early;
};
/// Returns a generate task. If the plan has a threshold, it includes the inference of its stage.
GenerationActivity generation_activity(const Scenario& scenario, const plan::Plan& plan, std::size_t task,
                                       const Draw& draw) {
  GenerationActivity made;
  made.activity.task = number_of(task);
  made.activity.devices[0] = plan.tasks[task].mesh;
  const std::optional<plan::GenerationStage> stage = plan::fused_stage(scenario.job, plan);
  if (!stage || stage->generate != task) {
    const Overhead overhead = overhead_of(overhead_seconds(scenario, task, plan.tasks[task]), true);
    made.activity.trace = with_overhead(overhead, task, generation_of(scenario, task, plan.tasks[task], draw).trace);
    return made;
  }
  simulate::InterStage simulated = inter_stage_of(scenario, plan, draw);
  made.activity.trace =
      simulated.migration ? std::move(simulated.trace) : one_after_the_other(scenario, plan, *stage, draw);
  made.migration = std::move(simulated.migration);
  made.early = made.activity.trace.end - simulated.generation_end;
  return made;
}

/// Returns two train tasks in one schedule, with the overhead of both (IntraStage::overhead). REQUIRES: the plan fuses
/// two train tasks.
simulate::Activity fused_training_activity(const plan::Plan& plan, const FusedTraining& training,
                                           const OverheadSeconds& overhead) {
  const std::size_t first = plan.fusion.training.value()[0];
  simulate::Activity activity;
  activity.task = number_of(first);
  activity.devices[0] = plan.tasks[first].mesh;
  activity.trace = with_overhead(overhead_of(overhead, true), first, training.trace);
  return activity;
}

/// Returns a load or an unload, which occupies the task's links to host memory for activity_seconds.
simulate::Activity host_transfer_activity(const Scenario& scenario, const plan::Plan& plan,
                                          const plan::Activity& activity) {
  simulate::Activity made;
  made.task = number_of(activity.task);
  made.trace.end = base::ticks_of_seconds(activity_seconds(scenario, plan, activity).seconds);
  made.host = simulate::HostTransfer{.devices = plan::host_links_of(activity, plan),
                                     .activity = activity.task,
                                     .back = activity.kind == plan::Activity::Kind::unload,
                                     .bytes = loaded_bytes(scenario, activity.task, plan.tasks[activity.task])};
  return made;
}

/// Returns a reallocation. Into an engine, it occupies the link of each engine device for activity_seconds, and the
/// links of the trained devices if these are different. Otherwise weights move from device to device by the plan of
/// realloc, after packing and forwarding.
simulate::Activity reallocation_activity(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& from) {
  simulate::Activity activity;
  activity.task = number_of(from.task);
  activity.reallocation = true;
  const std::vector<cluster::Mesh> meshes = plan::meshes_of(from, scenario.job, plan);
  std::copy(meshes.begin(), meshes.end(), activity.devices.begin());
  if (plan::has_own_weights(scenario.job, plan, from.task))
    add_weight_sync(scenario, plan, from, activity);
  else
    add_moves(scenario, plan, from, activity);
  return activity;
}

/// Returns the bytes of average activations that both models may hold on each device. nullopt if none are left.
std::optional<std::int64_t> activation_capacity(const Scenario& scenario, const plan::Plan& plan) {
  const std::int64_t headroom = activation_headroom(scenario, plan);
  if (headroom <= 0) return std::nullopt;
  return static_cast<std::int64_t>(static_cast<double>(headroom) /
                                   fullest_over_average(scenario, *plan.fusion.training, plan));
}

bool is_generation(const plan::Job& job, const plan::Activity& activity) {
  return activity.kind == plan::Activity::Kind::task &&
         job.workflow.tasks[activity.task].kind == workflow::TaskKind::generate;
}

}  // namespace

Simulator::Simulator(const Scenario& scenario, SimulationOptions options)
    : scenario_(scenario), options_(std::move(options)) {}

void Simulator::report(std::string_view work) const {
  if (options_.on_progress) options_.on_progress(work);
}

/// Returns an Error if stopped.
base::Status Simulator::check_not_stopped() const {
  if (const auto ended_by = parallel::ended_by(scenario_.cancellation))
    return parallel::stopped_before("an iteration was simulated", *ended_by);
  return {};
}

base::Result<FusedTraining> Simulator::fused_training(const plan::Plan& plan) {
  const plan::TrainPair tasks = plan.fusion.training.value();
  const plan::TaskPlan& first = plan.tasks[tasks[0]];
  const plan::TaskPlan& second = plan.tasks[tasks[1]];
  FusedSearch search = options_.fused;
  search.max_activations = activation_capacity(scenario_, plan);
  if (fused_ && fused_->tasks == tasks && fused_->first == first && fused_->second == second &&
      fused_->max_activations == search.max_activations)
    return fused_->training;
  report("fusing training");
  DOVETAIL_TRY(FusedTraining training, fused_training_trace(scenario_, {tasks[0], first}, {tasks[1], second}, search));
  fused_ = Fused{tasks, first, second, search.max_activations, training};
  return training;
}

base::Result<std::vector<simulate::Activity>> Simulator::fixed_activities(const plan::Plan& plan,
                                                                          const Simulation& simulation) const {
  std::vector<simulate::Activity> activities;
  for (std::size_t index = 0; index < simulation.closed.graph.activities.size(); ++index) {
    DOVETAIL_CHECK(check_not_stopped());
    const plan::Activity& activity = simulation.closed.graph.activities[index];
    simulate::Activity& made = activities.emplace_back();
    made.task = static_cast<std::int32_t>(activity.task);
    if (activity.within || is_generation(scenario_.job, activity)) continue;
    if (activity.kind == plan::Activity::Kind::reallocation) {
      made = reallocation_activity(scenario_, plan, activity);
    } else if (plan::is_host_transfer(activity)) {
      made = host_transfer_activity(scenario_, plan, activity);
    } else if (simulation.training && index == (*plan.fusion.training)[0]) {
      made = fused_training_activity(plan, *simulation.training, simulation.closed.intra_stage.value().overhead);
    } else {
      DOVETAIL_TRY(made, task_activity(scenario_, plan, simulation.closed.graph, activity.task));
    }
  }
  return activities;
}

void Simulator::add_draw(const plan::Plan& plan, const Draw& draw, Simulation& simulation,
                         simulate::Workload& workload) const {
  plan::IterationGraph graph = simulation.closed.graph;
  if (plan.fusion.threshold) simulation.migrations.emplace_back();
  for (std::size_t index = 0; index < graph.activities.size(); ++index) {
    const plan::Activity& activity = graph.activities[index];
    if (!is_generation(scenario_.job, activity)) continue;
    GenerationActivity made = generation_activity(scenario_, plan, activity.task, draw);
    workload.activities[index] = std::move(made.activity);
    plan::release(graph, index, made.early);
    if (made.migration) simulation.migrations.back() = std::move(made.migration);
  }
  workload.edges = std::move(graph.edges);
}

base::Result<Simulation> Simulator::simulate(const plan::Plan& plan) {
  report("estimating");
  return simulate(plan, estimate(scenario_, plan));
}

base::Result<Simulation> Simulator::simulate(const plan::Plan& plan, Estimate closed) {
  Simulation simulation;
  simulation.closed = std::move(closed);
  if (plan.fusion.training) {
    DOVETAIL_TRY(simulation.training, fused_training(plan));
  }
  DOVETAIL_CHECK(check_not_stopped());
  simulate::Workload workload;
  workload.devices = cluster::device_count(scenario_.job.cluster);
  workload.overhead = base::ticks_of_seconds(scenario_.software.efficiency.iteration);
  workload.max_iterations = options_.max_iterations;
  workload.transfer_cache = &transfer_cache_;
  workload.cancellation = scenario_.cancellation;
  DOVETAIL_TRY(workload.activities, fixed_activities(plan, simulation));
  workload.resident = resident_of(scenario_, plan, simulation.closed);
  for (int draw = 0; draw < options_.draws; ++draw) {
    if (scenario_.is_stopped()) break;
    report(fmt::format("simulating draw {} of {}", draw + 1, options_.draws));
    add_draw(plan, {options_.seed, static_cast<std::uint64_t>(draw)}, simulation, workload);
    if (scenario_.is_stopped()) break;
    simulate::Iteration iteration = simulate::simulate_iteration(workload);
    if (scenario_.is_stopped()) break;  // it may be incomplete
    simulation.draws.push_back(base::seconds_of_ticks(iteration.period + workload.overhead));
    if (draw == 0) simulation.iteration = std::move(iteration);
  }
  if (simulation.draws.empty()) DOVETAIL_CHECK(check_not_stopped());
  if (plan.fusion.threshold) simulation.migrations.resize(simulation.draws.size());
  simulation.iteration_seconds = std::accumulate(simulation.draws.begin(), simulation.draws.end(), 0.0) /
                                 static_cast<double>(simulation.draws.size());
  return simulation;
}

}  // namespace dovetail::predict
