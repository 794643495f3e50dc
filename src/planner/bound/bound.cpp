#include "planner/bound/bound.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "plan/job.h"
#include "planner/space/fused_activities.h"
#include "predict/closed_form/training_phase.h"
#include "simulate/threshold.h"

namespace dovetail::planner {
namespace {

/// Coefficients of one task in a term.
struct TermPart {
  double seconds = 0;  ///< coefficient of the task's seconds
  double whole = 0;    ///< coefficient of the seconds of the stage that it leads; 0 for a task fused into that stage
  double busy = 0;     ///< coefficient of the seconds for which it keeps each of its devices busy
  double work = 0;     ///< coefficient of its share of all devices' busy seconds
  double refit = 0;    ///< coefficient of the seconds of its engine's weight sync
  double weight_sync_work = 0;  ///< coefficient of its share of all devices' weight sync seconds

  friend bool operator==(const TermPart&, const TermPart&) = default;
};
/// [task]
using Term = std::vector<TermPart>;

using workflow::TaskKind;

constexpr std::size_t max_circles = 256;  // max number of cycles of the workflow's edges that get a term
constexpr std::size_t max_terms = 1024;
constexpr std::size_t max_on_circle = 8;  // max tasks of a cycle for terms that replace tasks by work
constexpr int max_lag = 7;

struct Edge {
  std::size_t to;
  int lag;
  bool brings_weights;  // leads to an engine with separate weights
};

/// Returns the edges that start at each task: [task].
std::vector<std::vector<Edge>> edges_of(const plan::Job& job) {
  std::vector<std::vector<Edge>> edges(job.workflow.tasks.size());
  for (const workflow::DataEdge& edge : job.workflow.data_edges)
    edges[edge.from.index()].push_back({edge.to.index(), 0, false});
  for (const workflow::VersionEdge& edge : workflow::version_edges(job.workflow, job.workload.steps_off_policy))
    edges[edge.train.index()].push_back(
        {edge.use.index(), edge.iterations, job.workflow.tasks[edge.use.index()].kind == TaskKind::generate});
  return edges;
}

/// A cycle: a closed path of edges, with the task that each edge starts from.
struct Cycle {
  std::vector<std::size_t> tasks;
  std::vector<Edge> edges;  // [as tasks] edge from the task to the next
  int lag = 0;
};

/// Finds all simple cycles, each once, starting at the task with the smallest index.
class Cycles {
 public:
  explicit Cycles(const std::vector<std::vector<Edge>>& edges) : edges_(edges), on_path_(edges.size()) {
    for (first_ = 0; first_ < edges.size(); ++first_) follow(first_);
  }

  const std::vector<Cycle>& all() const { return cycles_; }

 private:
  void follow(std::size_t task) {
    path_.tasks.push_back(task);
    on_path_[task] = true;
    for (const Edge& edge : edges_[task]) {
      path_.edges.push_back(edge);
      path_.lag += edge.lag;
      if (edge.to == first_ && path_.lag > 0 && cycles_.size() < max_circles) cycles_.push_back(path_);
      if (edge.to > first_ && !on_path_[edge.to] && cycles_.size() < max_circles) follow(edge.to);
      path_.lag -= edge.lag;
      path_.edges.pop_back();
    }
    on_path_[task] = false;
    path_.tasks.pop_back();
  }

  const std::vector<std::vector<Edge>>& edges_;
  std::vector<bool> on_path_;  // [task]
  std::size_t first_ = 0;
  Cycle path_;
  std::vector<Cycle> cycles_;
};

/// For any two tasks, whether one must follow the other, and after how many iterations.
class Precedence {
 public:
  explicit Precedence(const std::vector<std::vector<Edge>>& edges)
      : lags_(edges.size(), std::vector<std::uint32_t>(edges.size())) {
    for (std::size_t from = 0; from < edges.size(); ++from)
      for (const Edge& edge : edges[from])
        if (edge.lag <= max_lag) lags_[from][edge.to] |= 1U << edge.lag;
    for (bool grew = true; grew;) {
      grew = false;
      for (std::size_t from = 0; from < edges.size(); ++from)
        for (std::size_t over = 0; over < edges.size(); ++over)
          for (std::size_t to = 0; to < edges.size(); ++to) {
            const std::uint32_t more = lags_[from][to] | sums(lags_[from][over], lags_[over][to]);
            grew = grew || more != lags_[from][to];
            lags_[from][to] = more;
          }
    }
  }

  /// Returns the tasks that must run after `from` and before the execution of `to` that is `lag` iterations later.
  std::vector<std::size_t> between(std::size_t from, std::size_t to, int lag) const {
    std::vector<std::size_t> tasks;
    for (std::size_t task = 0; lag <= max_lag && task < lags_.size(); ++task)
      if (task != from && task != to && ((sums(lags_[from][task], lags_[task][to]) >> lag) & 1U) != 0)
        tasks.push_back(task);
    return tasks;
  }

 private:
  /// Returns all sums of a lag in `a` and a lag in `b`.
  static std::uint32_t sums(std::uint32_t a, std::uint32_t b) {
    std::uint32_t all = 0;
    for (int lag = 0; lag <= max_lag; ++lag)
      if (((a >> lag) & 1U) != 0) all |= b << lag;
    return all & ((2U << max_lag) - 1);
  }

  std::vector<std::vector<std::uint32_t>> lags_;  // [from][to] one bit for each lag in iterations
};

/// Returns the term of a cycle that keeps the tasks whose bit is set in `kept` and replaces the others by work.
Term term_of(const Cycle& cycle, std::uint32_t kept, const Precedence& precedence, std::size_t tasks) {
  Term term(tasks);
  const double part = 1.0 / cycle.lag;
  const std::size_t size = cycle.tasks.size();
  for (std::size_t at = 0; at < size; ++at) {
    if (((kept >> at) & 1U) == 0) continue;
    term[cycle.tasks[at]].seconds += part;
    std::size_t next = at;
    int lag = 0;
    do {
      lag += cycle.edges[next].lag;
      next = (next + 1) % size;
    } while (((kept >> next) & 1U) == 0);
    const std::size_t to = cycle.tasks[next];
    if (cycle.edges[at].to == to && cycle.edges[at].brings_weights) {
      term[to].refit += part;
      continue;
    }
    for (const std::size_t task : precedence.between(cycle.tasks[at], to, lag)) term[task].work += part;
  }
  return term;
}

/// Returns the term with each generation replaced by the fused stage that it leads, and without inference. nullopt if
/// the term contains no generation.
std::optional<Term> with_stage(const workflow::Workflow& workflow, const Term& term) {
  Term whole = term;
  bool passes = false;
  for (std::size_t task = 0; task < term.size(); ++task) {
    if (workflow.tasks[task].kind == TaskKind::infer) whole[task] = {};
    if (workflow.tasks[task].kind != TaskKind::generate || term[task].seconds == 0) continue;
    whole[task].whole = term[task].seconds;
    whole[task].seconds = 0;
    passes = true;
  }
  return passes ? std::optional<Term>(std::move(whole)) : std::nullopt;
}

/// Returns the terms of the bound: the work of all tasks, the cycles of the workflow, and the cycles with work in place
/// of some of their tasks. If a job has very many cycles, some are left out, which only weakens the bound. With
/// `stages`, also adds a second version of each term that has a generation. There, the fused stage that the generation
/// may lead replaces it.
std::vector<Term> bound_terms(const plan::Job& job, bool stages) {
  const std::size_t tasks = job.workflow.tasks.size();
  const std::vector<std::vector<Edge>> edges = edges_of(job);
  const Precedence precedence(edges);
  std::vector<Term> terms(1, Term(tasks));
  for (std::size_t task = 0; task < tasks; ++task) {
    // Two tasks that generate with the weights of one role may share their weight sync.
    const auto is_alike = [&](const Edge& edge) { return edge.brings_weights; };
    terms[0][task].work = 1;
    for (const std::vector<Edge>& of_task : edges)
      if (std::count_if(of_task.begin(), of_task.end(), is_alike) == 1 &&
          std::find_if(of_task.begin(), of_task.end(), is_alike)->to == task)
        terms[0][task].weight_sync_work = 1;
  }
  const Cycles cycles(edges);
  for (const Cycle& cycle : cycles.all()) {
    const std::size_t size = cycle.tasks.size();
    const std::uint32_t all = (1U << std::min<std::size_t>(size, 31)) - 1;
    for (std::uint32_t kept = size <= max_on_circle ? 1 : all; kept <= all && terms.size() < max_terms; ++kept) {
      Term term = term_of(cycle, kept, precedence, tasks);
      if (std::find(terms.begin(), terms.end(), term) == terms.end()) terms.push_back(std::move(term));
    }
  }
  for (std::size_t index = 0, plain = terms.size(); stages && index < plain; ++index)
    if (auto whole = with_stage(job.workflow, terms[index]);
        whole && std::find(terms.begin(), terms.end(), *whole) == terms.end())
      terms.push_back(std::move(*whole));
  return terms;
}

/// Lower bounds in seconds on a task, valid under any fusion. Exact without fusion.
struct TaskFloor {
  double seconds = 0;  ///< bound on the task's own duration; other tasks of its fused step add theirs
  double whole = 0;    ///< bound on the stage that it leads; 0 for a task that may be fused into such a stage
  double busy = 0;     ///< bound on its devices' mean busy time
};

using workflow::TaskKind;

/// Returns a floor in which all bounds are `seconds`.
TaskFloor all_alike(double seconds) { return {seconds, seconds, seconds}; }

/// Returns the smaller of each bound.
TaskFloor min_of(const TaskFloor& a, const TaskFloor& b) {
  return {std::min(a.seconds, b.seconds), std::min(a.whole, b.whole), std::min(a.busy, b.busy)};
}

/// Returns the seconds that prefetching may remove from a task's own step. Fused tasks keep their transfers.
double hidden_transfers(const predict::Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const TaskKind kind = scenario.job.workflow.tasks[task].kind;
  if (!scenario.job.software.prefetch || (kind != TaskKind::infer && kind != TaskKind::train)) return 0;
  return predict::overhead_seconds(scenario, task, planned).host_transfers;
}

TaskFloor training_floor(const predict::Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const predict::StageWork work = predict::stage_work(scenario, {task, planned});
  const predict::OverheadSeconds overhead = predict::overhead_seconds(scenario, task, planned);
  const double alone = work.busiest + overhead.sum();
  // The two trainings share one hand-over. Only half of it is certain for each.
  return {alone, alone, work.mean + overhead.host_transfers + overhead.hand_over / 2};
}

TaskFloor generation_floor(const predict::Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const auto& fixed = scenario.job.fixed_fusion.threshold;
  TaskFloor floor = all_alike(predict::generation_seconds(scenario, task, planned).sum());
  for (const predict::GenerationTail& tail : predict::generation_tails(
           scenario, task, planned, fixed ? std::vector<double>{*fixed} : simulate::default_thresholds())) {
    const double before = tail.generation.until + tail.generation.migration;
    floor = min_of(floor, {before, before + tail.generation.tail, before});
  }
  return floor;
}

bool is_in_pair(const plan::Job& job, std::size_t task) {
  const auto pair = plan::train_pair(job);
  return pair && std::find(pair->begin(), pair->end(), task) != pair->end();
}

/// Returns the floor of a task with this choice, in plans that fuse at most `fusion`.
/// - Training that may be fused: stage_work, the host transfers, and its part of the shared hand-over.
/// - Inference that may be fused: its passes.
/// - Generation that may be fused: up to the earliest threshold, and with the tail at the best threshold, never more
///   than without fusion.
/// - Everything else: its full duration. If the job's software prefetches, host transfers of infer and train tasks do
///   not count, because they may overlap with other tasks.
TaskFloor task_floor(const predict::Scenario& scenario, std::size_t task, const Choice& choice,
                     FusionSelection fusion) {
  const plan::TaskPlan& planned = choice.planned;
  const double seconds = base::seconds_of_ticks(choice.duration);
  const TaskFloor own = all_alike(seconds - hidden_transfers(scenario, task, planned));
  switch (scenario.job.workflow.tasks[task].kind) {
    case TaskKind::generate:
      return fusion.generation ? min_of(own, generation_floor(scenario, task, planned)) : own;
    case TaskKind::infer: {
      if (!fusion.generation) return own;
      const double passes = seconds - predict::overhead_seconds(scenario, task, planned).sum();
      return {passes, 0, passes};
    }
    case TaskKind::train:
      if (!fusion.training || planned.layout.virtual_stages > 1 || !is_in_pair(scenario.job, task)) return own;
      return min_of(own, training_floor(scenario, task, planned));
    case TaskKind::rule:
      break;
  }
  return own;
}

constexpr int first_rounds = 2000;
constexpr int later_rounds = 60;
constexpr int max_cuts = 1000;

/// Cost of a choice: its seconds, its weight sync, and its share of all devices.
struct Cost {
  TaskFloor floor;
  double refit;                    ///< seconds, independent of where the weights are trained
  double weight_sync_overlapping;  ///< seconds if some of its devices also train the weights
  double devices;

  /// Returns the cost with the coefficients of `part`. `trained_on` is the minimum share of all devices that trains the
  /// weights.
  double weighted(const TermPart& part, double trained_on) const {
    // The tolerance absorbs rounding if the shares add up to exactly all devices.
    const double arrival = trained_on + devices > 1 + 1e-9 ? weight_sync_overlapping : refit;
    return part.seconds * floor.seconds + part.whole * floor.whole + (part.busy + part.work * devices) * floor.busy +
           (part.refit + part.weight_sync_work * devices) * arrival;
  }
};
/// [task] by number of devices, ascending
using Costs = std::vector<std::vector<Cost>>;

/// Returns the minimum cost per mesh shape, separately for engines with and without separate weights.
Costs costs_of(const SearchSpace& space, FusionSelection fusion) {
  const double devices = cluster::device_count(space.scenario->job.cluster);
  Costs costs(space.choices.size());
  for (std::size_t task = 0; task < costs.size(); ++task) {
    if (space.is_rule(task)) costs[task] = {{all_alike(base::seconds_of_ticks(space.rules[task])), 0, 0, 0}};
    const bool generates = space.scenario->job.workflow.tasks[task].kind == workflow::TaskKind::generate;
    for (std::size_t shape = 0; shape < space.choices[task].size(); ++shape) {
      std::optional<TaskFloor> least[2];
      for (const Choice& choice : space.choices[task][shape]) {
        if (space.scenario->is_stopped()) return {};
        auto& known = least[generates && choice.planned.engine.own_weights ? 1 : 0];
        const TaskFloor floor = task_floor(*space.scenario, task, choice, fusion);
        known = known ? min_of(*known, floor) : floor;
      }
      const double part = space.examples[shape].count / devices;
      const WeightSyncTicks& refit = space.weight_syncs[task][shape];
      if (least[0]) costs[task].push_back({*least[0], 0, 0, part});
      if (least[1])
        costs[task].push_back({*least[1], base::seconds_of_ticks(std::min(refit.same, refit.apart)),
                               base::seconds_of_ticks(refit.same), part});
    }
    std::stable_sort(costs[task].begin(), costs[task].end(),
                     [](const Cost& a, const Cost& b) { return a.devices < b.devices; });
  }
  return costs;
}

/// A subset of plans, limited by the number of devices of each task: [task] a range of its costs.
struct PlanRange {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  std::vector<double> weights;  ///< [term] weights, then the weight of the term of tasks that must share a device
  double bound = 0;             ///< in seconds
  std::size_t branch = 0;       ///< task at whose costs the part is to be cut
  std::size_t middle = 0;       ///< index of the cost to cut at; 0: do not cut
};

class Relaxation {
 public:
  Relaxation(const SearchSpace& space, FusionSelection fusion)
      : scenario_(*space.scenario),
        workflow_(scenario_.job.workflow),
        terms_(bound_terms(scenario_.job, fusion.generation)),
        costs_(costs_of(space, fusion)) {}

  /// Returns whether the scenario was stopped before all costs were computed.
  bool is_cut_short() const { return costs_.empty(); }

  PlanRange full_range() const {
    PlanRange part;
    for (const std::vector<Cost>& of_task : costs_) part.ranges.emplace_back(0, of_task.size());
    part.weights.assign(terms_.size() + 1, 1.0 / static_cast<double>(terms_.size() + 1));
    improve(part, first_rounds);
    return part;
  }

  /// Returns the plans with costs before `middle` of the branch task, and the others.
  std::pair<PlanRange, PlanRange> cut(const PlanRange& part) const {
    std::pair<PlanRange, PlanRange> halves{part, part};
    halves.first.ranges[part.branch].second = part.middle;
    halves.second.ranges[part.branch].first = part.middle;
    improve(halves.first, later_rounds);
    improve(halves.second, later_rounds);
    return halves;
  }

 private:
  /// Data that every round of an improvement needs.
  struct ImprovementInput {
    std::vector<const Term*> terms;  ///< terms of the workflow, then the term of tasks that must share a device
    /// [task] terms in which its coefficients are not all 0
    std::vector<std::vector<std::size_t>> of;
    std::vector<std::vector<std::size_t>> in;  ///< [term] tasks whose coefficients are not all 0
    std::vector<double> trained_on;            ///< [task]
  };
  ImprovementInput input(const PlanRange& part, const Term& shared) const {
    ImprovementInput input;
    for (const Term& term : terms_) input.terms.push_back(&term);
    input.terms.push_back(&shared);
    input.of.resize(costs_.size());
    input.in.resize(input.terms.size());
    for (std::size_t task = 0; task < costs_.size(); ++task) {
      input.trained_on.push_back(trained_on(part, task));
      for (std::size_t term = 0; term < input.terms.size(); ++term) {
        if ((*input.terms[term])[task] == TermPart{}) continue;
        input.of[task].push_back(term);
        input.in[term].push_back(task);
      }
    }
    return input;
  }

  /// Raises the bound by conditional gradients. Each round moves a share of all weight to the term that is largest at
  /// the current minimum costs.
  void improve(PlanRange& part, int rounds) const {
    const Term shared = shared_device(part);
    const ImprovementInput input = this->input(part, shared);
    std::vector<std::vector<std::size_t>> chosen;  // [round][task]
    for (int round = 0; round < rounds && (round == 0 || !scenario_.is_stopped()); ++round) {
      const std::vector<std::size_t>& now = chosen.emplace_back(choose(part, input));
      double bound = 0;
      double most = -1;
      std::size_t largest = 0;
      for (std::size_t index = 0; index < input.terms.size(); ++index) {
        double sum = 0;
        for (const std::size_t task : input.in[index])
          sum += costs_[task][now[task]].weighted((*input.terms[index])[task], input.trained_on[task]);
        bound += part.weights[index] * sum;
        if (sum <= most) continue;
        largest = index;
        most = sum;
      }
      part.bound = std::max(part.bound, bound);
      const double share = 2.0 / (round + (rounds == first_rounds ? 3 : 12));
      for (double& weight : part.weights) weight *= 1 - share;
      part.weights[largest] += share;
    }
    find_branch(part, chosen);
  }

  /// Returns the term of tasks of which any two together have more devices than exist. Meshes are runs of devices, so
  /// all of these tasks share a device and run there in turn.
  Term shared_device(const PlanRange& part) const {
    std::vector<std::pair<double, std::size_t>> widest;  // minimum devices, task
    for (std::size_t task = 0; task < costs_.size(); ++task)
      widest.emplace_back(costs_[task][part.ranges[task].first].devices, task);
    std::stable_sort(widest.begin(), widest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    Term term(costs_.size());
    for (std::size_t index = 0; index < widest.size(); ++index) {
      if (index > 0 && widest[index - 1].first + widest[index].first < 1 + 1e-9) break;
      if (widest[index].first == 0) break;
      const std::size_t task = widest[index].second;
      term[task].busy = 1;
      term[task].refit = terms_.front()[task].weight_sync_work;
    }
    return term;
  }

  /// Returns the minimum share of all devices that trains the weights of the task's role. 0 if the role is not trained.
  double trained_on(const PlanRange& part, std::size_t task) const {
    const auto role = workflow_.role_of[task];
    if (!role || !workflow_.trained_by[role->index()]) return 0;
    const std::size_t train = workflow_.trained_by[role->index()]->index();
    return costs_[train][part.ranges[train].first].devices;
  }

  /// Returns the index of the cheapest cost at the current weights: [task].
  std::vector<std::size_t> choose(const PlanRange& part, const ImprovementInput& input) const {
    std::vector<std::size_t> least;
    for (std::size_t task = 0; task < costs_.size(); ++task) {
      TermPart mean;
      for (const std::size_t index : input.of[task]) {
        const TermPart& of_term = (*input.terms[index])[task];
        mean.seconds += part.weights[index] * of_term.seconds;
        mean.whole += part.weights[index] * of_term.whole;
        mean.busy += part.weights[index] * of_term.busy;
        mean.work += part.weights[index] * of_term.work;
        mean.refit += part.weights[index] * of_term.refit;
        mean.weight_sync_work += part.weights[index] * of_term.weight_sync_work;
      }
      std::size_t best = part.ranges[task].first;
      double known = costs_[task][best].weighted(mean, input.trained_on[task]);
      for (std::size_t index = best + 1; index < part.ranges[task].second; ++index) {
        const double tried = costs_[task][index].weighted(mean, input.trained_on[task]);
        if (tried >= known) continue;
        best = index;
        known = tried;
      }
      least.push_back(best);
    }
    return least;
  }

  /// Sets the task to cut at: the one whose chosen seconds vary most in the later half of the rounds, and the middle of
  /// its chosen costs. If none varies, picks the task on the most devices among those that may have fewer. The set of
  /// tasks that must share a device then differs between the halves.
  void find_branch(PlanRange& part, const std::vector<std::vector<std::size_t>>& chosen) const {
    part.middle = 0;
    double spread = 0;
    double widest = 0;
    for (std::size_t task = 0; task < costs_.size(); ++task) {
      std::size_t first = part.ranges[task].second;
      std::size_t last = part.ranges[task].first;
      for (std::size_t round = chosen.size() / 2; round < chosen.size(); ++round) {
        first = std::min(first, chosen[round][task]);
        last = std::max(last, chosen[round][task]);
      }
      const auto [least, most] = std::minmax(costs_[task][first].floor.seconds, costs_[task][last].floor.seconds);
      const double devices = costs_[task][first].devices;
      const bool differs = first != last && most - least > spread;
      if (!differs && (spread > 0 || first == part.ranges[task].first || devices <= widest)) continue;
      spread = differs ? most - least : 0;
      widest = devices;
      part.branch = task;
      part.middle = first + (last - first + 1) / 2;
    }
  }

  const predict::Scenario& scenario_;
  const workflow::Workflow& workflow_;
  std::vector<Term> terms_;
  Costs costs_;
};

}  // namespace

double period_bound(const SearchSpace& space, FusionSelection fusion) {
  const Relaxation relaxation(space, fusion);
  if (relaxation.is_cut_short()) return 0;
  const auto is_above = [](const PlanRange& a, const PlanRange& b) { return a.bound > b.bound; };
  std::priority_queue<PlanRange, std::vector<PlanRange>, decltype(is_above)> parts(is_above);
  parts.push(relaxation.full_range());
  for (int cut = 0; cut < max_cuts && parts.top().middle > 0 && !space.scenario->is_stopped(); ++cut) {
    auto [fewer, more] = relaxation.cut(parts.top());
    parts.pop();
    parts.push(std::move(fewer));
    parts.push(std::move(more));
  }
  return parts.top().bound;
}

}  // namespace dovetail::planner
