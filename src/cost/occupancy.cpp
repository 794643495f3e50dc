#include "cost/occupancy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dovetail::cost {
namespace {

constexpr std::size_t nodes = 64;    // of the grid, up to the longest length
constexpr std::size_t slices = 200;  // of a tail without renewals

/// When the queue is empty: [node] the sequences of a place that ended there until then, `last` of those at the last
/// node refilled.
struct Renewals {
  std::vector<double> ended;
  double last = 0;
};

/// Renewals until `refills` of a place have ended and been replaced.
Renewals renewals_of(const std::vector<double>& probabilities, double refills) {
  Renewals renewals;
  double before = 0;
  while (true) {
    const std::size_t node = renewals.ended.size();
    double ended = node <= nodes ? probabilities[node] : 0;
    for (std::size_t length = 1; length <= std::min(node, nodes); ++length)
      ended += probabilities[length] * renewals.ended[node - length];
    ended /= 1 - probabilities[0];
    renewals.ended.push_back(ended);
    if (before + ended >= refills) {
      renewals.last = refills - before;
      return renewals;
    }
    before += ended;
  }
}

/// What the places hold when the queue is empty: [node] the fraction with so many nodes left, and their ages, summed,
/// in nodes.
struct Residuals {
  std::vector<double> places = std::vector<double>(nodes + 1, 0);
  std::vector<double> ages = std::vector<double>(nodes + 1, 0);

  void add(std::size_t left, double fraction, std::size_t age) {
    places[left] += fraction;
    ages[left] += fraction * static_cast<double>(age);
  }
};

Residuals residuals_of(const std::vector<double>& probabilities, const Renewals& renewals) {
  const std::size_t end = renewals.ended.size() - 1;
  Residuals residuals;
  const auto add_started = [&](std::size_t start, double fraction) {
    for (std::size_t length = end - start + 1; length <= nodes; ++length)
      residuals.add(length - (end - start), fraction * probabilities[length], end - start);
  };
  add_started(0, 1);
  for (std::size_t start = end > nodes ? end - nodes : 0; start < end; ++start)
    add_started(start, renewals.ended[start]);
  add_started(end, renewals.last);
  return residuals;
}

std::vector<Occupancy::Part> without_waiting(const workflow::LengthDistribution& lengths, double sequences) {
  std::vector<Occupancy::Part> parts;
  const double steps = static_cast<double>(lengths.longest()) / slices;
  for (std::size_t slice = 0; slice < slices; ++slice) {
    const double tokens = (static_cast<double>(slice) + 0.5) * steps;
    const double left = sequences * lengths.survival(static_cast<std::int64_t>(tokens));
    if (left <= 0) break;
    parts.push_back({steps, left, tokens - 0.5});
  }
  return parts;
}

}  // namespace

std::vector<double> lengths_on_grid(const workflow::LengthDistribution& lengths) {
  std::vector<double> probabilities(nodes + 1, 0);
  const auto longest = static_cast<double>(lengths.longest());
  for (const workflow::LengthPoint& point : lengths.points()) {
    const double place = static_cast<double>(point.length) / longest * nodes;
    const auto below = std::min(nodes - 1, static_cast<std::size_t>(place));
    const double probability = static_cast<double>(point.weight) / static_cast<double>(lengths.total_weight());
    const double above = place - static_cast<double>(below);
    probabilities[below] += probability * (1 - above);
    probabilities[below + 1] += probability * above;
  }
  return probabilities;
}

Occupancy occupancy_of(const workflow::LengthDistribution& lengths, double sequences, double places) {
  constexpr double exact_waves = 3;
  Occupancy occupancy;
  occupancy.at_start = std::max(1.0, std::min(sequences, places));
  const double waves = sequences / occupancy.at_start;
  if (waves <= 1) {
    occupancy.parts = without_waiting(lengths, sequences);
    return occupancy;
  }
  const double skipped = std::max(0.0, std::ceil(waves - exact_waves));
  const std::vector<double> probabilities = lengths_on_grid(lengths);
  const Renewals renewals = renewals_of(probabilities, waves - skipped - 1);
  const Residuals residuals = residuals_of(probabilities, renewals);
  const double node_steps = static_cast<double>(lengths.longest()) / nodes;
  const double full_steps = static_cast<double>(renewals.ended.size() - 1) * node_steps + skipped * lengths.mean();
  // Every sequence meets 0, 1, 2, ... tokens of its own: what the tail does not meet of them, the full steps did.
  double met = waves * (lengths.second_moment() - lengths.mean()) / 2;
  std::vector<Occupancy::Part> tail(nodes);
  double left_places = 0;
  double ages = 0;
  for (std::size_t left = nodes; left >= 1; --left) {
    left_places += residuals.places[left];
    ages += residuals.ages[left];
    const double context =
        left_places > 0 ? (ages / left_places + static_cast<double>(left) - 0.5) * node_steps - 0.5 : 0;
    tail[left - 1] = {node_steps, occupancy.at_start * std::min(1.0, left_places), context};
    met -= left_places * context * node_steps;
  }
  if (full_steps > 0) occupancy.parts.push_back({full_steps, occupancy.at_start, std::max(0.0, met) / full_steps});
  occupancy.tail = occupancy.parts.size();
  occupancy.parts.insert(occupancy.parts.end(), tail.begin(), tail.end());
  return occupancy;
}

}  // namespace dovetail::cost
