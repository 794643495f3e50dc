#include "predict/played/activities.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.h"
#include "cluster/collective.h"
#include "predict/played/inter_stage.h"
#include "predict/played/memory.h"
#include "predict/played/scoring.h"
#include "realloc/cost.h"
#include "realloc/plan.h"
#include "simulate/step_clock.h"

namespace dovetail::predict {
namespace {

using base::Ticks;
using simulate::BarKind;
using simulate::DeviceTransfer;
using workflow::TaskKind;

std::int32_t number_of(std::size_t task) { return static_cast<std::int32_t>(task); }

/// Puts a span before all of each lane.
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

/// Until all transfers of an activity begin, `mesh` works on them.
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

/// Each device of the engine has the whole model over its own link: of its node where that is all it needs.
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
    activity.transfers.push_back({DeviceTransfer::nobody, device, between, all - waking, bytes});
  if (cluster::overlap(engine, trained)) return;
  for (int device = trained.first; device < trained.first + trained.count; ++device)
    activity.transfers.push_back({device, DeviceTransfer::nobody, between, all - waking, 0});
}

/// Bytes and messages from one device to another, whatever the bundle.
std::map<std::pair<int, int>, std::int64_t> pairs_of(const realloc::Plan& moves) {
  std::map<std::pair<int, int>, std::int64_t> pairs;
  for (const realloc::Flow& flow : moves.flows)
    pairs[{flow.from.value, flow.to.value}] += (flow.end - flow.begin) * moves.options.element_bytes;
  return pairs;
}

void add_moves(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& from,
               simulate::Activity& activity) {
  const auto [moves, links] = reallocation(scenario, plan, from);
  std::map<std::pair<int, bool>, Ticks> busy;  // of sending (-device - 1) and receiving (device), by level
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

/// What a task's own activity has of its overhead.
struct Overhead {
  Ticks hand_over;
  Ticks load;
  Ticks unload;
};

/// What gives back (training, and an engine that sleeps) gives half of what is transferred.
Overhead overhead_of(const OverheadSeconds& seconds, bool gives_back) {
  const Ticks transfers = base::ticks_of_seconds(seconds.host_transfers);
  const Ticks back(gives_back ? transfers.count() / 2 : 0);
  return {base::ticks_of_seconds(seconds.hand_over), transfers - back, back};
}

/// Without what is an activity of its own in `graph`.
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

/// The spans and the memory of `second`, which is of the same devices, behind those of `first`.
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

/// Generation, and behind it what infers: the stage where nothing migrates. Lanes hold what stage_memory says.
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

}  // namespace

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
  simulate::InterStage played = inter_stage_of(scenario, plan, draw);
  made.activity.trace = played.migration ? std::move(played.trace) : one_after_the_other(scenario, plan, *stage, draw);
  made.migration = std::move(played.migration);
  made.early = made.activity.trace.end - played.generation_end;
  return made;
}

simulate::Activity fused_training_activity(const plan::Plan& plan, const FusedTraining& training,
                                           const OverheadSeconds& overhead) {
  const std::size_t first = plan.fusion.training.value()[0];
  simulate::Activity activity;
  activity.task = number_of(first);
  activity.devices[0] = plan.tasks[first].mesh;
  activity.trace = with_overhead(overhead_of(overhead, true), first, training.trace);
  return activity;
}

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

}  // namespace dovetail::predict
