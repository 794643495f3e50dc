#include "place/bound.h"

#include <algorithm>
#include <vector>

namespace dovetail::place {
namespace {

/// A circle of edges: the tasks on it, and over how many iterations it goes.
struct Circle {
  std::vector<std::size_t> tasks;
  int lag = 0;
};

constexpr std::size_t most_circles = 256;
constexpr int rounds = 600;

/// Simple circles of the workflow, each once: from their least task on. Some of them, where there are very many: fewer only weaken the
/// bound.
class Circles {
 public:
  explicit Circles(const plan::Job& job) : out_(job.workflow.tasks.size()), on_path_(job.workflow.tasks.size()) {
    for (const workflow::DataEdge& edge : job.workflow.data_edges) out_[edge.from.index()].push_back({edge.to.index(), 0});
    for (const workflow::VersionEdge& edge : workflow::version_edges(job.workflow, job.workload.steps_off_policy))
      out_[edge.train.index()].push_back({edge.use.index(), edge.iterations});
    for (first_ = 0; first_ < out_.size(); ++first_) follow(first_, 0);
  }

  const std::vector<Circle>& all() const { return circles_; }

 private:
  struct Edge {
    std::size_t to;
    int lag;
  };

  void follow(std::size_t task, int lag) {
    path_.push_back(task);
    on_path_[task] = true;
    for (const Edge& edge : out_[task]) {
      if (edge.to == first_ && lag + edge.lag > 0 && circles_.size() < most_circles) circles_.push_back({path_, lag + edge.lag});
      if (edge.to > first_ && !on_path_[edge.to] && circles_.size() < most_circles) follow(edge.to, lag + edge.lag);
    }
    on_path_[task] = false;
    path_.pop_back();
  }

  std::vector<std::vector<Edge>> out_;  // [task]
  std::vector<bool> on_path_;           // [task]
  std::vector<std::size_t> path_;
  std::size_t first_ = 0;
  std::vector<Circle> circles_;
};

/// What a choice costs: seconds, and its part of all devices' seconds.
struct Cost {
  double seconds;
  double work;
};

/// [task] those that no other equals or beats in both.
std::vector<std::vector<Cost>> costs_of(const SearchSpace& space) {
  const double devices = cluster::device_count(space.ground->job.cluster);
  std::vector<std::vector<Cost>> costs(space.choices.size());
  for (std::size_t task = 0; task < costs.size(); ++task) {
    if (space.is_rule(task)) costs[task] = {{static_cast<double>(space.rules[task].count()) * 1e-9, 0}};
    std::vector<Cost> all;
    for (const auto& of_shape : space.choices[task])
      for (const Choice& choice : of_shape) {
        const double seconds = static_cast<double>(choice.duration.count()) * 1e-9;
        all.push_back({seconds, seconds * choice.planned.mesh.count / devices});
      }
    std::sort(all.begin(), all.end(),
              [](const Cost& a, const Cost& b) { return a.seconds != b.seconds ? a.seconds < b.seconds : a.work < b.work; });
    for (const Cost& cost : all)
      if (costs[task].empty() || cost.work < costs[task].back().work) costs[task].push_back(cost);
  }
  return costs;
}

/// Weights of the circles, and of the work behind them: the terms that a period is at least as long as.
class Terms {
 public:
  explicit Terms(const SearchSpace& space)
      : circles_(Circles(space.ground->job).all()),
        costs_(costs_of(space)),
        weights_(circles_.size() + 1, 1.0 / static_cast<double>(circles_.size() + 1)) {}

  /// The bound at the weights as they are; then the term that is largest at its choices gets a part of all weight.
  double step(double share) {
    choose();
    double bound = weights_.back() * work_;
    std::size_t largest = circles_.size();
    double most = work_;
    for (std::size_t circle = 0; circle < circles_.size(); ++circle) {
      double sum = 0;
      for (const std::size_t task : circles_[circle].tasks) sum += seconds_[task] / circles_[circle].lag;
      bound += weights_[circle] * sum;
      if (sum <= most) continue;
      largest = circle;
      most = sum;
    }
    for (double& weight : weights_) weight *= 1 - share;
    weights_[largest] += share;
    return bound;
  }

 private:
  /// The choice of each task that costs least at the weights.
  void choose() {
    std::vector<double> factors(costs_.size(), 0.0);  // [task] of its seconds
    for (std::size_t circle = 0; circle < circles_.size(); ++circle)
      for (const std::size_t task : circles_[circle].tasks) factors[task] += weights_[circle] / circles_[circle].lag;
    seconds_.assign(costs_.size(), 0.0);
    work_ = 0;
    for (std::size_t task = 0; task < costs_.size(); ++task) {
      const auto weighed = [&](const Cost& cost) { return factors[task] * cost.seconds + weights_.back() * cost.work; };
      const Cost& least = *std::min_element(costs_[task].begin(), costs_[task].end(),
                                            [&](const Cost& a, const Cost& b) { return weighed(a) < weighed(b); });
      seconds_[task] = least.seconds;
      work_ += least.work;
    }
  }

  std::vector<Circle> circles_;
  std::vector<std::vector<Cost>> costs_;  // [task]
  std::vector<double> weights_;           // [circle], and of the work
  std::vector<double> seconds_;           // [task] of the choice
  double work_ = 0;
};

}  // namespace

double period_bound(const SearchSpace& space) {
  Terms terms(space);
  double bound = 0;
  for (int round = 0; round < rounds; ++round) bound = std::max(bound, terms.step(2.0 / (round + 3)));
  return bound;
}

}  // namespace dovetail::place
