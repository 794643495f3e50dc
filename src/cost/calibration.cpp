#include "cost/calibration.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "base/random.h"
#include "cost/efficiency.h"

namespace dovetail::cost {
namespace {

/// Returns |ln(a / b)|.
double log_ratio(double a, double b) { return base::negative_log(std::min(a, b) / std::max(a, b)); }

using Point = std::vector<double>;  // [unknown] value / start

struct Vertex {
  double value = 0;
  Point point;
};

/// The function to minimize.
class Objective {
 public:
  Objective(const std::vector<CalibrationRow>& rows, const std::vector<Unknown>& unknowns, Candidate start,
            const FitOptions& options)
      : rows_(rows), unknowns_(unknowns), start_(std::move(start)), options_(options) {
    for (const Unknown& unknown : unknowns_) {
      starts_.push_back(unknown.of(start_));
      DOVETAIL_ASSERT(unknown.low > 0 && unknown.low <= starts_.back() && starts_.back() <= unknown.high);
    }
  }

  Candidate candidate(const Point& point) const {
    Candidate candidate = start_;
    // Rounding may push (bound / start) * start slightly beyond the bound.
    for (std::size_t i = 0; i < unknowns_.size(); ++i)
      unknowns_[i].of(candidate) = std::clamp(starts_[i] * point[i], unknowns_[i].low, unknowns_[i].high);
    return candidate;
  }

  /// Returns the vertex at `point`, clamped to the bounds.
  Vertex at(Point point) const {
    double penalty = 0;
    for (std::size_t i = 0; i < unknowns_.size(); ++i) {
      point[i] = std::clamp(point[i], unknowns_[i].low / starts_[i], unknowns_[i].high / starts_[i]);
      const double moved = log_ratio(point[i], 1);
      penalty += moved * moved;
    }
    const double value = mean_error(rows_, candidate(point), options_.noise) + options_.prior * penalty;
    return {value, std::move(point)};
  }

  /// Reports `evaluations` more evaluations. Returns whether to continue.
  bool report(int evaluations) const { return !options_.should_continue || options_.should_continue(evaluations); }

 private:
  const std::vector<CalibrationRow>& rows_;
  const std::vector<Unknown>& unknowns_;
  Candidate start_;
  FitOptions options_;
  std::vector<double> starts_;
};

/// Returns a simplex around `first`: each unknown in turn is multiplied by 4/3 (up) or 3/4 (down).
std::vector<Vertex> simplex_around(const Objective& objective, const Vertex& first, bool up) {
  std::vector<Vertex> simplex = {first};
  for (std::size_t i = 0; i < first.point.size(); ++i) {
    Point point = first.point;
    point[i] *= up ? 4.0 / 3 : 0.75;
    simplex.push_back(objective.at(std::move(point)));
  }
  return simplex;
}

/// Takes one step of a simplex with sorted vertices. Returns the number of evaluations.
int step(const Objective& objective, std::vector<Vertex>& simplex) {
  const std::size_t size = simplex.size() - 1;
  Point centre(size, 0);
  for (std::size_t vertex = 0; vertex < size; ++vertex)
    for (std::size_t i = 0; i < size; ++i) centre[i] += simplex[vertex].point[i] / static_cast<double>(size);
  const auto along = [&](double distance) {
    Point point = centre;
    for (std::size_t i = 0; i < size; ++i) point[i] += distance * (simplex.back().point[i] - centre[i]);
    return objective.at(std::move(point));
  };
  Vertex reflected = along(-1);
  if (reflected.value < simplex.front().value) {
    Vertex expanded = along(-2);
    simplex.back() = expanded.value < reflected.value ? std::move(expanded) : std::move(reflected);
    return 2;
  }
  if (reflected.value < simplex[size - 1].value) {
    simplex.back() = std::move(reflected);
    return 1;
  }
  Vertex contracted = along(reflected.value < simplex.back().value ? -0.5 : 0.5);
  if (contracted.value < std::min(reflected.value, simplex.back().value)) {
    simplex.back() = std::move(contracted);
    return 2;
  }
  for (std::size_t vertex = 1; vertex <= size; ++vertex) {
    Point point = simplex[vertex].point;
    for (std::size_t i = 0; i < size; ++i) point[i] = (point[i] + simplex.front().point[i]) / 2;
    simplex[vertex] = objective.at(std::move(point));
  }
  return 2 + static_cast<int>(size);
}

/// Orders by value. Ties are broken by point, so that the order is the same on every machine.
bool is_better(const Vertex& a, const Vertex& b) { return std::tie(a.value, a.point) < std::tie(b.value, b.point); }

/// Returns the best vertex of consecutive simplices, each built around the best vertex of the previous one.
Vertex descend(const Objective& objective, Vertex best, int evaluations) {
  constexpr int rounds = 4;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Vertex> simplex = simplex_around(objective, best, round % 2 == 0);
    int used = static_cast<int>(simplex.size());
    bool continues = objective.report(used);
    while (used < evaluations / rounds && continues) {
      std::sort(simplex.begin(), simplex.end(), is_better);
      const int taken = step(objective, simplex);
      used += taken;
      continues = objective.report(taken);
    }
    best = *std::min_element(simplex.begin(), simplex.end(), is_better);
    if (!continues) break;
  }
  return best;
}

}  // namespace

Unknown efficiency_unknown(std::string_view name) {
  const EfficiencyConstant* constant = find_constant(name);
  DOVETAIL_ASSERT(constant != nullptr);
  return {std::string(name), constant->low, constant->high,
          [of = constant->of](Candidate& candidate) -> double& { return of(candidate.efficiency); }};
}

Unknown workload_unknown(std::string name, std::size_t index, double low, double high) {
  return {std::move(name), low, high,
          [index](Candidate& candidate) -> double& { return candidate.workload.at(index); }};
}

double mean_error(const std::vector<CalibrationRow>& rows, const Candidate& candidate, double noise) {
  double sum = 0;
  double weight = 0;
  for (const CalibrationRow& row : rows) {
    const std::vector<double> predicted = row.predicted(candidate);
    DOVETAIL_ASSERT(predicted.size() == row.measured.size());
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      if (row.measured[i].weight <= 0) continue;
      const double error = log_ratio(predicted[i], row.measured[i].seconds);
      sum += row.measured[i].weight * (std::sqrt(error * error + noise * noise) - noise);
      weight += row.measured[i].weight;
    }
  }
  DOVETAIL_ASSERT(weight > 0);
  return sum / weight;
}

Fit fit(const std::vector<CalibrationRow>& rows, const std::vector<Unknown>& unknowns, const Candidate& start,
        const FitOptions& options) {
  const Objective objective(rows, unknowns, start, options);
  const Vertex first = objective.at(Point(unknowns.size(), 1));
  Vertex best = unknowns.empty() ? first : descend(objective, first, options.evaluations);
  for (int restart = 0; restart < options.restarts && !unknowns.empty(); ++restart) {
    base::Random random(options.seed, static_cast<std::uint64_t>(restart));
    Point point(unknowns.size(), 1);
    for (double& value : point) {
      const double factor = 1 + random.unit();
      value = random.below(2) == 0 ? factor : 1 / factor;
    }
    const Vertex other = descend(objective, objective.at(std::move(point)), options.evaluations);
    if (is_better(other, best)) best = other;
  }
  const Candidate candidate = objective.candidate(best.point);
  return {candidate, mean_error(rows, candidate)};
}

std::vector<LeftOut> leave_one_out(const std::vector<CalibrationRow>& rows, const std::vector<Unknown>& unknowns,
                                   const Candidate& start, const FitOptions& options) {
  std::vector<LeftOut> answers;
  for (const CalibrationRow& row : rows) {
    const auto same = [&](const auto& other) { return other.group == row.group; };
    if (std::any_of(answers.begin(), answers.end(), same)) continue;
    std::vector<CalibrationRow> others = rows;
    std::erase_if(others, same);
    answers.push_back({row.group, fit(others, unknowns, start, options)});
  }
  return answers;
}

}  // namespace dovetail::cost
