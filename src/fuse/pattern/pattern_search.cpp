#include <algorithm>
#include <limits>
#include <utility>

#include "fuse/pattern/pattern.h"
#include "parallel/for_each_index.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::fuse {
namespace {

using pipeline::Model;
using pipeline::Problem;

/// Maximum number of ops that the passes of a search schedule, about ten seconds on one core.
constexpr std::int64_t max_placed_ops = 60'000'000;
/// Number of such ops for each second of a short time limit.
constexpr std::int64_t placed_ops_per_second = 3'000'000;
/// Problems with at least twice this many classes are first tuned on a subset of their devices with about this many
/// classes.
constexpr std::size_t max_classes_tuned = 256;
constexpr int passes = 4;

/// Data shared by all trials on one problem.
struct Scenario {
  const ClassGraph& graph;
  Timetable timetable;                 ///< without buffers
  std::int64_t unit = 0;               ///< rounds in flight
  std::int64_t activation = 0;         ///< maximum that the timetable holds on a device
  std::vector<std::int64_t> capacity;  ///< [device]
  const SolveOptions& options;
};

std::vector<std::int64_t> capacity_of(const Problem& problem, const SolveOptions& options) {
  std::vector<std::int64_t> capacity;
  for (const base::Memory headroom : pipeline::headroom_of(problem, options.memory_cap))
    capacity.push_back(std::max<std::int64_t>(0, headroom.count()));
  return capacity;
}

std::int64_t excess_of(const std::vector<std::int64_t>& held, const std::vector<std::int64_t>& headroom) {
  std::int64_t excess = 0;
  for (std::size_t device = 0; device < held.size(); ++device) {
    const std::int64_t beyond = std::max<std::int64_t>(0, held[device] - headroom[device]);
    excess = std::min(excess, std::numeric_limits<std::int64_t>::max() - beyond) + beyond;
  }
  return excess;
}

/// Returns the longest period for which all times still fit in 64 bits.
std::int64_t max_period(const ClassGraph& graph) {
  return std::max(graph.period, (std::int64_t{1} << 60) / static_cast<std::int64_t>(16 * (graph.classes.size() + 16)));
}

/// Returns the fastest timetable whose activations fit. Otherwise returns one so slow that barely more than one round
/// is in flight.
Scenario survey(const ClassGraph& graph, std::vector<std::int64_t> capacity, const SolveOptions& options) {
  Scenario scenario{graph, {}, 0, 0, std::move(capacity), options};
  // Percent of the period. The last one leaves a micro-batch enough time to pass alone.
  std::vector<std::int64_t> stretches{100, 110, 125, 150, 200, 300, 400, 600, 800, 1600};
  const std::int64_t longest = max_period(graph);
  for (std::size_t index = 0; index < stretches.size(); ++index) {
    const std::int64_t period = std::min(longest, graph.period * stretches[index] / 100);
    scenario.timetable = make_timetable(graph, period);
    const std::vector<std::int64_t> held = activation_of(graph, in_flight_of(graph, scenario.timetable));
    scenario.activation = *std::max_element(held.begin(), held.end());
    scenario.unit = rounds_in_flight(graph, scenario.timetable);
    if (excess_of(held, scenario.capacity) == 0 || period == longest) break;
    if (index == 0) stretches.push_back(std::max<std::int64_t>(1600, 100 * scenario.unit));
  }
  return scenario;
}

std::vector<std::int64_t> headroom_of(const Scenario& scenario, const PatternParameters& parameters) {
  std::vector<std::int64_t> headroom = scenario.capacity;
  const std::int64_t percent = scenario.activation / 100 + 1;
  const std::int64_t most = percent > std::numeric_limits<std::int64_t>::max() / std::max(1, parameters.memory)
                                ? std::numeric_limits<std::int64_t>::max()
                                : percent * parameters.memory;
  for (std::int64_t& value : headroom) value = std::min(value, most);
  return headroom;
}

/// Returns the timetable with the requested buffers, or as much of them as fits in memory.
Timetable buffered(const Scenario& scenario, const PatternParameters& parameters,
                   const std::vector<std::int64_t>& headroom) {
  std::vector<std::int64_t> extra;
  for (const PatternPipeline& pipeline : scenario.graph.pipelines)
    extra.push_back(scenario.unit * parameters.buffer[static_cast<std::size_t>(pipeline.model)] / 100);
  for (;;) {
    Timetable timetable = with_buffers(scenario.graph, scenario.timetable, extra);
    const bool none = std::all_of(extra.begin(), extra.end(), [](std::int64_t rounds) { return rounds == 0; });
    if (none || excess_of(activation_of(scenario.graph, in_flight_of(scenario.graph, timetable)), headroom) == 0)
      return timetable;
    for (std::int64_t& rounds : extra) rounds = rounds * 3 / 4;
  }
}

/// Returns the cut of a ramp: when the pattern has begun on all classes, plus the settling time, but at most half of
/// the micro-batches.
std::int64_t cut_of(const Scenario& scenario, const Side& side, const PatternParameters& parameters) {
  std::int64_t begun = std::numeric_limits<std::int64_t>::min();
  std::int64_t half = std::numeric_limits<std::int64_t>::max();
  for (std::size_t index = 0; index < scenario.graph.classes.size(); ++index) {
    const std::int64_t all =
        scenario.graph.pipelines[static_cast<std::size_t>(scenario.graph.classes[index].pipeline)].microbatches;
    begun = std::max(begun, side.at(index, 0));
    half = std::min(half, side.at(index, side.from_end ? all - all / 2 : all / 2));
  }
  return std::min(half, begun + scenario.unit * side.timetable->period * parameters.settle / 100);
}

/// Result of one set of parameters, and the ops that its passes scheduled. The schedule is absent if canceled, or if
/// the ramps deadlock.
struct Trial {
  std::optional<CompactSchedule> schedule;
  std::int64_t placed_ops = 0;
};

/// Improves both ramps in turn. Each considers the lateness of the other on each device.
bool improve_in_turn(const Scenario& scenario, const RampTask (&tasks)[2], Ramp (&ramps)[2],
                     std::vector<std::int64_t> (&late)[2]) {
  late[1].assign(scenario.capacity.size(), 0);
  for (int turn = 0; turn < 4; ++turn) {
    const std::size_t side = static_cast<std::size_t>(turn % 2);
    auto best = improve_ramp(tasks[side], late[1 - side], turn < 2 ? passes : 2,
                             turn < 2 ? std::vector<std::int64_t>{} : ramps[side].start, scenario.options.cancellation);
    if (!best) return false;
    ramps[side] = std::move(*best);
    late[side] = settled_lateness(tasks[side].side, ramps[side].lateness);
  }
  return true;
}

std::size_t devices_used(const ClassGraph& graph) {
  return static_cast<std::size_t>(std::count_if(graph.on_device.begin(), graph.on_device.end(),
                                                [](const auto& classes) { return !classes.empty(); }));
}

Trial try_parameters(const Scenario& scenario, const PatternParameters& parameters) {
  const ClassGraph& graph = scenario.graph;
  Trial trial;
  CompactSchedule schedule;
  const std::vector<std::int64_t> headroom = headroom_of(scenario, parameters);
  schedule.timetable = buffered(scenario, parameters, headroom);
  const std::vector<std::int64_t> in_flight = in_flight_of(graph, schedule.timetable);
  std::vector<std::int64_t> last;
  for (const PatternPipeline& pipeline : graph.pipelines) {
    schedule.ahead.push_back(scenario.unit * parameters.lead[static_cast<std::size_t>(pipeline.model)] / 100 *
                             pipeline.per_round);
    last.push_back(pipeline.remainder - 1 - schedule.ahead.back());
  }
  const Side start{&graph, &schedule.timetable, false, schedule.ahead};
  const Side end{&graph, &schedule.timetable, true, last};
  const RampTask tasks[2] = {make_ramp_task(start, cut_of(scenario, start, parameters), in_flight, headroom),
                             make_ramp_task(end, cut_of(scenario, end, parameters), in_flight, headroom)};
  Ramp ramps[2];
  std::vector<std::int64_t> late[2];
  // A pass examines all classes of the device.
  const auto looked_at = static_cast<std::int64_t>(graph.classes.size() / (4 * devices_used(graph)) + 1);
  trial.placed_ops =
      static_cast<std::int64_t>(tasks[0].first.back() + tasks[1].first.back()) * (2 * passes + 2) * looked_at;
  if (!improve_in_turn(scenario, tasks, ramps, late)) return trial;
  const std::vector<std::int64_t> held = activation_of(graph, in_flight);
  schedule.makespan = std::numeric_limits<std::int64_t>::min();
  for (std::size_t device = 0; device < held.size(); ++device)
    if (!graph.on_device[device].empty())
      schedule.makespan =
          std::max(schedule.makespan, late[0][device] + late[1][device] + graph.rounds * schedule.timetable.period);
  schedule.peak_activation = std::max({ramps[0].peak, ramps[1].peak, *std::max_element(held.begin(), held.end())});
  schedule.excess = excess_of(held, scenario.capacity);
  schedule.warm_up_count = tasks[0].count;
  schedule.drain_count = tasks[1].count;
  schedule.warm_up = std::move(ramps[0].order);
  schedule.drain = std::move(ramps[1].order);
  for (auto& order : schedule.drain) std::reverse(order.begin(), order.end());
  schedule.parameters = parameters;
  trial.schedule = std::move(schedule);
  return trial;
}

bool better(const CompactSchedule& a, const CompactSchedule& b, const SolveOptions& options) {
  const auto rank = [&options](const CompactSchedule& schedule) {
    return rank_of(base::Memory(schedule.excess), base::Ticks(schedule.makespan),
                   base::Memory(schedule.peak_activation), options);
  };
  return rank(a) < rank(b);
}

/// Returns the starting points of the search: no buffers, and buffers with some lead for the models whose activations
/// are not the largest.
std::vector<PatternParameters> first_parameters(const ClassGraph& graph) {
  std::size_t models = 0;
  std::size_t heaviest = 0;
  std::int64_t largest = -1;
  for (const PatternPipeline& pipeline : graph.pipelines) {
    models = std::max(models, static_cast<std::size_t>(pipeline.model) + 1);
    if (pipeline.max_activation <= largest) continue;
    largest = pipeline.max_activation;
    heaviest = static_cast<std::size_t>(pipeline.model);
  }
  std::vector<PatternParameters> made;
  const std::vector<int> none(models, 0);
  for (const int memory : {125, 110, 200}) {
    PatternParameters others{std::vector<int>(models, 100), std::vector<int>(models, 25), memory, 25};
    others.buffer[heaviest] = 0;
    others.lead[heaviest] = 0;
    made.push_back(others);
    made.push_back({none, none, memory, 25});
  }
  return made;
}

/// Returns the neighbors of `parameters`: one step up or down in each parameter.
std::vector<PatternParameters> neighbours(const PatternParameters& parameters, int step) {
  std::vector<PatternParameters> made;
  const auto add = [&](auto change) {
    for (const int sign : {1, -1}) {
      PatternParameters changed = parameters;
      change(changed, sign);
      const bool sound =
          changed.memory >= 100 && changed.settle >= 0 &&
          std::all_of(changed.buffer.begin(), changed.buffer.end(), [](int percent) { return percent >= 0; });
      if (sound && changed != parameters) made.push_back(changed);
    }
  };
  for (std::size_t model = 0; model < parameters.buffer.size(); ++model) {
    add([&](PatternParameters& changed, int sign) { changed.buffer[model] += sign * step; });
    if (model > 0) add([&](PatternParameters& changed, int sign) { changed.lead[model] += sign * step / 2; });
  }
  add([&](PatternParameters& changed, int sign) { changed.memory += sign * std::max(1, step / 4); });
  add([&](PatternParameters& changed, int sign) { changed.settle += sign * step / 2; });
  return made;
}

/// Tries all of `list` in order and stores improvements in `best`. Returns true if there was one.
bool try_all(const Scenario& scenario, const std::vector<PatternParameters>& list, std::optional<CompactSchedule>& best,
             std::int64_t& placed_ops_left) {
  std::vector<Trial> trials(list.size());
  parallel::for_each_index(static_cast<int>(list.size()), scenario.options.threads, [&](int index) {
    trials[static_cast<std::size_t>(index)] = try_parameters(scenario, list[static_cast<std::size_t>(index)]);
  });
  bool improved = false;
  for (Trial& trial : trials) {
    placed_ops_left -= trial.placed_ops;
    if (!trial.schedule || (best && !better(*trial.schedule, *best, scenario.options))) continue;
    best = std::move(trial.schedule);
    improved = true;
  }
  return improved;
}

/// Pattern search over the parameters: takes the best step while one helps, then smaller steps.
std::optional<CompactSchedule> tune(const Scenario& scenario, const std::vector<PatternParameters>& first,
                                    std::int64_t placed_ops_left) {
  std::optional<CompactSchedule> best;
  try_all(scenario, first, best, placed_ops_left);
  for (int step = 48; best && step >= 3 && placed_ops_left > 0;)
    if (!try_all(scenario, neighbours(best->parameters, step), best, placed_ops_left)) step /= 2;
  return best;
}

/// Returns the problem on every `stride`-th device, with proportionally fewer micro-batches. Returns nullopt if a model
/// would have no stage left.
std::optional<Problem> thin_out(const Problem& problem, int stride) {
  Problem thin = problem;
  const auto kept = [stride](base::DeviceId device) { return device.value % stride == 0; };
  for (Model& model : thin.models) {
    const Model whole = model;
    model.microbatches = std::max(8, whole.microbatches / stride);
    pipeline::for_each_duration(model, [](auto& times, const auto&) { times.clear(); });
    for (auto* values : {&model.activation, &model.weight_activation}) values->clear();
    for (auto& replica : model.replicas) replica.clear();
    for (std::size_t stage = 0; stage < whole.forward.size(); ++stage) {
      if (!kept(whole.replicas[0][stage])) continue;
      pipeline::for_each_duration(whole, [&](const auto& times, const pipeline::OpTraits& traits) {
        if (!times.empty()) (model.*traits.duration).push_back(times[stage]);
      });
      model.activation.push_back(whole.activation[stage]);
      if (whole.split()) model.weight_activation.push_back(whole.weight_activation[stage]);
      for (std::size_t replica = 0; replica < whole.replicas.size(); ++replica)
        model.replicas[replica].push_back(whole.replicas[replica][stage]);
    }
    if (model.forward.empty()) return std::nullopt;
    model.transfer_forward.resize(model.forward.size() - 1);
    model.transfer_backward.resize(model.forward.size() - 1);
  }
  return thin;
}

/// Returns the best parameters on a subset of the devices for a problem that is too large for many trials, otherwise
/// nullopt.
std::optional<PatternParameters> tune_on_subproblem(const Problem& problem, const ClassGraph& whole,
                                                    const std::vector<PatternParameters>& first,
                                                    std::int64_t placed_ops, const SolveOptions& options) {
  const int stride = static_cast<int>(whole.classes.size() / max_classes_tuned);
  if (stride < 2) return std::nullopt;
  const auto thin = thin_out(problem, stride);
  if (!thin) return std::nullopt;
  const auto made = make_class_graph(*thin);
  const auto* graph = std::get_if<ClassGraph>(&made);
  if (!graph) return std::nullopt;
  // Fewer stages have fewer micro-batches in flight.
  std::vector<std::int64_t> capacity = capacity_of(problem, options);
  for (std::int64_t& value : capacity) value /= stride;
  auto best = tune(survey(*graph, std::move(capacity), options), first, placed_ops);
  if (!best) return std::nullopt;
  return std::move(best->parameters);
}

/// Returns options for a single mini-batch: its share of the deadline, without its optimizer step.
SolveOptions for_one_minibatch(const Problem& problem, const SolveOptions& options) {
  SolveOptions of_one = options;
  if (!options.deadline) return of_one;
  base::Ticks step;
  for (const Model& model : problem.models)
    for (const base::Ticks of_stage : model.step) step = std::max(step, of_stage);
  of_one.deadline =
      std::max(base::Ticks(1), base::Ticks(options.deadline->count() / problem.models[0].minibatches) - step);
  return of_one;
}

}  // namespace

std::variant<PatternFound, std::string> search_pattern(const Problem& problem, const SolveOptions& options) {
  auto made = make_class_graph(problem);
  if (auto* why = std::get_if<std::string>(&made)) return std::move(*why);
  const SolveOptions of_one = for_one_minibatch(problem, options);
  PatternFound found{std::get<ClassGraph>(std::move(made)), {}};
  std::int64_t placed_ops = max_placed_ops;
  if (options.time_limit_seconds)
    placed_ops = std::min(placed_ops, static_cast<std::int64_t>(std::clamp(*options.time_limit_seconds, 0.0, 1e6) *
                                                                placed_ops_per_second));
  std::vector<PatternParameters> first = first_parameters(found.graph);
  if (auto tuned = tune_on_subproblem(problem, found.graph, first, placed_ops / 2, of_one)) {
    first = {*tuned};
    placed_ops /= 2;
  }
  auto best = tune(survey(found.graph, capacity_of(problem, options), of_one), first, placed_ops);
  if (!best)
    return "the search was interrupted before it found a pattern, or the warm-up and drain of the pattern deadlock";
  found.schedule = std::move(*best);
  return found;
}

}  // namespace dovetail::fuse
