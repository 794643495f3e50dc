#include "planner/bound/bound.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "planner/bound/bound_terms.h"
#include "planner/bound/task_floor.h"

namespace dovetail::planner {
namespace {

constexpr int first_rounds = 2000;
constexpr int later_rounds = 60;
constexpr int max_cuts = 1000;

/// What a choice costs: seconds, those that bring new weights to it, and its part of all devices.
struct Cost {
  TaskFloor floor;
  double refit;                    ///< wherever the weights are trained
  double weight_sync_overlapping;  ///< where some of the devices train them, too
  double devices;

  /// `trained_on`: the least part of all devices that trains its weights.
  double weighed(const TermPart& part, double trained_on) const {
    // A hair's breadth more than all devices, whatever the rounding.
    const double arrival = trained_on + devices > 1 + 1e-9 ? weight_sync_overlapping : refit;
    return part.seconds * floor.seconds + part.whole * floor.whole + (part.busy + part.work * devices) * floor.busy +
           (part.refit + part.weight_sync_work * devices) * arrival;
  }
};
/// [task] by their devices, the fewest first.
using Costs = std::vector<std::vector<Cost>>;

/// The least on meshes of each shape, with weights of its own and without.
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

/// Plans whose tasks are on so many devices at least and at most: [task] a range of its costs.
struct Part {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  std::vector<double> weights;  ///< [term], and of what has to share a device
  double bound = 0;             ///< seconds
  std::size_t branch = 0;       ///< the task by whose costs it is to be cut
  std::size_t middle = 0;       ///< of its costs: where; 0: nowhere
};

class Relaxation {
 public:
  Relaxation(const SearchSpace& space, FusionSelection fusion)
      : scenario_(*space.scenario),
        workflow_(scenario_.job.workflow),
        terms_(bound_terms(scenario_.job, fusion.generation)),
        costs_(costs_of(space, fusion)) {}

  /// Whether there was no time to look at all costs.
  bool is_cut_short() const { return costs_.empty(); }

  Part whole() const {
    Part part;
    for (const std::vector<Cost>& of_task : costs_) part.ranges.emplace_back(0, of_task.size());
    part.weights.assign(terms_.size() + 1, 1.0 / static_cast<double>(terms_.size() + 1));
    improve(part, first_rounds);
    return part;
  }

  /// The plans with the costs before the middle of its branch, and the others.
  std::pair<Part, Part> cut(const Part& part) const {
    std::pair<Part, Part> halves{part, part};
    halves.first.ranges[part.branch].second = part.middle;
    halves.second.ranges[part.branch].first = part.middle;
    improve(halves.first, later_rounds);
    improve(halves.second, later_rounds);
    return halves;
  }

 private:
  /// What an improvement asks for again and again.
  struct Around {
    std::vector<const Term*> terms;  ///< those of the workflow, and what has to share a device
    /// [task] the terms that it has a part in: all others of its parts are 0
    std::vector<std::vector<std::size_t>> of;
    std::vector<std::vector<std::size_t>> in;  ///< [term] likewise its tasks
    std::vector<double> trained_on;            ///< [task]
  };
  Around around(const Part& part, const Term& shared) const {
    Around around;
    for (const Term& term : terms_) around.terms.push_back(&term);
    around.terms.push_back(&shared);
    around.of.resize(costs_.size());
    around.in.resize(around.terms.size());
    for (std::size_t task = 0; task < costs_.size(); ++task) {
      around.trained_on.push_back(trained_on(part, task));
      for (std::size_t term = 0; term < around.terms.size(); ++term) {
        if ((*around.terms[term])[task] == TermPart{}) continue;
        around.of[task].push_back(term);
        around.in[term].push_back(task);
      }
    }
    return around;
  }

  /// Raises the bound by conditional gradients: of the terms the one that is largest at the least costs gets a part of
  /// all weight.
  void improve(Part& part, int rounds) const {
    const Term shared = shared_device(part);
    const Around around = this->around(part, shared);
    std::vector<std::vector<std::size_t>> chosen;  // [round][task]
    for (int round = 0; round < rounds && (round == 0 || !scenario_.is_stopped()); ++round) {
      const std::vector<std::size_t>& now = chosen.emplace_back(choose(part, around));
      double bound = 0;
      double most = -1;
      std::size_t largest = 0;
      for (std::size_t index = 0; index < around.terms.size(); ++index) {
        double sum = 0;
        for (const std::size_t task : around.in[index])
          sum += costs_[task][now[task]].weighed((*around.terms[index])[task], around.trained_on[task]);
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

  /// Tasks of which any two have more devices than there are: meshes are runs of devices, so that all of them share
  /// one, which does one after the other.
  Term shared_device(const Part& part) const {
    std::vector<std::pair<double, std::size_t>> widest;  // least devices, task
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

  /// The least part of all devices that trains the weights of the task's role; 0 where nothing does.
  double trained_on(const Part& part, std::size_t task) const {
    const auto role = workflow_.role_of[task];
    if (!role || !workflow_.trained_by[role->index()]) return 0;
    const std::size_t train = workflow_.trained_by[role->index()]->index();
    return costs_[train][part.ranges[train].first].devices;
  }

  /// [task] the number of the cost that is least at the weights.
  std::vector<std::size_t> choose(const Part& part, const Around& around) const {
    std::vector<std::size_t> least;
    for (std::size_t task = 0; task < costs_.size(); ++task) {
      TermPart mean;
      for (const std::size_t index : around.of[task]) {
        const TermPart& of_term = (*around.terms[index])[task];
        mean.seconds += part.weights[index] * of_term.seconds;
        mean.whole += part.weights[index] * of_term.whole;
        mean.busy += part.weights[index] * of_term.busy;
        mean.work += part.weights[index] * of_term.work;
        mean.refit += part.weights[index] * of_term.refit;
        mean.weight_sync_work += part.weights[index] * of_term.weight_sync_work;
      }
      std::size_t best = part.ranges[task].first;
      double known = costs_[task][best].weighed(mean, around.trained_on[task]);
      for (std::size_t index = best + 1; index < part.ranges[task].second; ++index) {
        const double tried = costs_[task][index].weighed(mean, around.trained_on[task]);
        if (tried >= known) continue;
        best = index;
        known = tried;
      }
      least.push_back(best);
    }
    return least;
  }

  /// The task whose seconds differ the most among the later half of the rounds, and the middle of the costs that were
  /// its. Where none differs, that on the most devices of those which may have fewer: what has to share devices in the
  /// part with fewer is not what has to here.
  void find_branch(Part& part, const std::vector<std::vector<std::size_t>>& chosen) const {
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
  const auto is_above = [](const Part& a, const Part& b) { return a.bound > b.bound; };
  std::priority_queue<Part, std::vector<Part>, decltype(is_above)> parts(is_above);
  parts.push(relaxation.whole());
  for (int cut = 0; cut < max_cuts && parts.top().middle > 0 && !space.scenario->is_stopped(); ++cut) {
    auto [fewer, more] = relaxation.cut(parts.top());
    parts.pop();
    parts.push(std::move(fewer));
    parts.push(std::move(more));
  }
  return parts.top().bound;
}

}  // namespace dovetail::planner
