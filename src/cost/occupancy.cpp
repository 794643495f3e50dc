#include "cost/occupancy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

namespace dovetail::cost {

namespace {

constexpr std::size_t nodes = 64;    // grid nodes up to the longest length
constexpr std::size_t slices = 200;  // parts of a tail without renewals

/// Completions in one slot until the queue is empty.
struct Renewals {
  std::vector<double> ended;  // [node] sequences that ended there
  double last = 0;            // sequences at the last node that were replaced
};

/// Returns the renewals until `refills` sequences of a slot have ended and been replaced.
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

/// Contents of the slots when the queue is empty.
struct Residuals {
  std::vector<double> places = std::vector<double>(nodes + 1, 0);  // [nodes left] fraction of the slots
  std::vector<double> ages = std::vector<double>(nodes + 1, 0);    // [nodes left] sum of their ages in nodes

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

std::vector<Occupancy::Stretch> without_waiting(const workflow::LengthDistribution& lengths, double sequences) {
  std::vector<Occupancy::Stretch> stretches;
  const double steps = static_cast<double>(lengths.longest()) / slices;
  for (std::size_t slice = 0; slice < slices; ++slice) {
    const double tokens = (static_cast<double>(slice) + 0.5) * steps;
    const double left = sequences * lengths.survival(static_cast<std::int64_t>(tokens));
    if (left <= 0) break;
    stretches.push_back({steps, left, tokens - 0.5});
  }
  return stretches;
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
    occupancy.stretches = without_waiting(lengths, sequences);
    return occupancy;
  }
  const double skipped = std::max(0.0, std::ceil(waves - exact_waves));
  const std::vector<double> probabilities = lengths_on_grid(lengths);
  const Renewals renewals = renewals_of(probabilities, waves - skipped - 1);
  const Residuals residuals = residuals_of(probabilities, renewals);
  const double node_steps = static_cast<double>(lengths.longest()) / nodes;
  const double full_steps = static_cast<double>(renewals.ended.size() - 1) * node_steps + skipped * lengths.mean();
  // Steps 0, 1, 2, ... of a sequence follow that many generated tokens. Full steps get what the tail leaves
  // of the sum.
  double met = waves * (lengths.second_moment() - lengths.mean()) / 2;
  std::vector<Occupancy::Stretch> tail(nodes);
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
  if (full_steps > 0) occupancy.stretches.push_back({full_steps, occupancy.at_start, std::max(0.0, met) / full_steps});
  occupancy.tail = occupancy.stretches.size();
  occupancy.stretches.insert(occupancy.stretches.end(), tail.begin(), tail.end());
  return occupancy;
}

namespace {

constexpr double half_a_block =
    static_cast<double>(cache_block) / 2;  // the mean empty space in a sequence's last block
constexpr double too_few = 1e-6;           // fraction of a sequence that counts as none

/// Sequences that have generated the same number of tokens.
struct Cohort {
  std::size_t age = 0;  // in grid nodes
  double count = 0;
};

/// Totals at one point of the simulation.
struct Mark {
  std::size_t part = 0;
  double recomputed = 0;
  double came_back = 0;
  double ended = 0;
};

class Cache {
 public:
  Cache(const workflow::LengthDistribution& lengths, const CacheWork& work)
      : work_(work), mean_(lengths.mean()), fresh_(work.sequences) {
    const std::vector<double> probabilities = lengths_on_grid(lengths);
    step_ = static_cast<double>(lengths.longest()) / static_cast<double>(probabilities.size() - 1);
    double reached = 1;
    for (std::size_t age = 0; age < probabilities.size(); ++age) {
      ending_.push_back(reached > too_few ? std::min(1.0, probabilities[age] / reached) : 1);
      reached -= probabilities[age];
      // A prompt is held while any sequence that shares it runs.
      const double left = std::clamp(reached, too_few, 1.0);
      const double own_prompt =
          (work.prompt + half_a_block) * (1 - std::pow(1 - left, work.group)) / (work.group * left);
      held_.push_back(own_prompt + static_cast<double>(age) * step_ + half_a_block);
    }
    ending_.back() = 1;
  }

  Occupancy simulate() {
    while (true) {
      enter();
      if (running_.empty()) return finish();
      if (made_.stretches.empty()) made_.at_start = work_.sequences - fresh_;
      grow();
      if (waits()) made_.tail = made_.stretches.size();
      repeat_waves();
    }
  }

 private:
  /// Returns the result. Each completion frees cache for returning sequences, so recomputation takes at most as many
  /// steps as there are completions.
  Occupancy finish() {
    made_.recomputed = so_far_.recomputed;
    made_.recomputing_steps = std::min(so_far_.came_back, so_far_.ended);
    return std::move(made_);
  }

  bool waits() const { return fresh_ > too_few || !again_.empty(); }

  double running_count() const {
    return std::accumulate(running_.begin(), running_.end(), 0.0,
                           [](double sum, const Cohort& cohort) { return sum + cohort.count; });
  }
  double running_tokens() const {
    return std::accumulate(running_.begin(), running_.end(), 0.0,
                           [this](double sum, const Cohort& cohort) { return sum + cohort.count * held_[cohort.age]; });
  }

  /// Admits waiting sequences while slots and cache are free.
  void enter() {
    double places = std::max(0.0, work_.places - running_count());
    double space = std::max(0.0, work_.cache_tokens - running_tokens());
    while (waits() && places > too_few) {
      const Cohort next = again_.empty() ? Cohort{0, fresh_} : again_.front();
      // A sequence needs space for one more token than it holds.
      double count = std::min({next.count, places, space / (held_[next.age] + 1)});
      if (running_.empty()) count = std::max(count, std::min(1.0, next.count));
      made_.is_short_of_cache = made_.is_short_of_cache || count < std::min(next.count, places);
      if (count < too_few) return;
      take(next, count);
      places -= count;
      space -= count * held_[next.age];
    }
  }

  /// Admits `count` sequences of the cohort `next`.
  void take(const Cohort& next, double count) {
    if (again_.empty()) {
      fresh_ -= count;
      add_running({0, count * (1 - ending_[0])});
      return;
    }
    so_far_.recomputed += count * held_[next.age];
    so_far_.came_back += count;
    add_running({next.age, count});
    again_.front().count -= count;
    if (again_.front().count < too_few) again_.pop_front();
  }

  void add_running(const Cohort& cohort) {
    if (!running_.empty() && running_.back().age == cohort.age)
      running_.back().count += cohort.count;
    else
      running_.push_back(cohort);
  }

  /// Decodes all running sequences to the next node. Sequences that do not fit are preempted halfway. Of the others,
  /// some end.
  void grow() {
    Occupancy::Stretch stretch{step_, 0, 0};
    preempt(stretch);
    for (const Cohort& cohort : running_) add_decoded(stretch, cohort, 1);
    if (stretch.sequences > 0) stretch.context /= stretch.sequences;
    made_.stretches.push_back(stretch);
    for (Cohort& cohort : running_) cohort.count *= 1 - ending_[++cohort.age];
    std::erase_if(running_, [](const Cohort& cohort) { return cohort.count < too_few; });
  }

  void add_decoded(Occupancy::Stretch& stretch, const Cohort& cohort, double share) const {
    stretch.sequences += share * cohort.count;
    stretch.context += share * cohort.count * (static_cast<double>(cohort.age) + share / 2) * step_;
  }

  void preempt(Occupancy::Stretch& stretch) {
    double count = running_count();
    double beyond = running_tokens() + count * step_ - work_.cache_tokens;
    while (beyond > too_few && count > 1 + too_few) {
      made_.is_short_of_cache = true;
      Cohort& last = running_.back();
      const double leave = std::min({last.count, beyond / held_[last.age + 1], count - 1});
      add_decoded(stretch, {last.age, leave}, 0.5);
      wait_again({last.age, leave / 2});
      wait_again({last.age + 1, leave / 2 * (1 - ending_[last.age + 1])});
      beyond -= leave * held_[last.age + 1];
      count -= leave;
      last.count -= leave;
      if (last.count < too_few) running_.pop_back();
    }
  }

  void wait_again(const Cohort& cohort) {
    if (cohort.count < too_few) return;
    if (!again_.empty() && again_.front().age == cohort.age)
      again_.front().count += cohort.count;
    else
      again_.push_front(cohort);
  }

  /// After the third wave, repeats it for as many further waves as possible.
  void repeat_waves() {
    double waiting = fresh_;
    for (const Cohort& cohort : again_) waiting += cohort.count;
    so_far_.part = made_.stretches.size();
    // Counts only while sequences wait.
    if (waiting > too_few) so_far_.ended = work_.sequences - waiting - running_count();
    const double ended = so_far_.ended / made_.at_start;
    if (!second_ && ended >= 2) second_ = so_far_;
    if (third_ || ended < 3) return;
    third_ = so_far_;
    double tokens = 0;
    for (std::size_t part = second_->part; part < third_->part; ++part)
      tokens += made_.stretches[part].steps * made_.stretches[part].sequences;
    const double more = tokens > 0 ? std::floor(fresh_ * mean_ / tokens) - 1 : 0;
    if (more < 1) return;
    fresh_ -= more * tokens / mean_;
    for (std::size_t part = second_->part; part < third_->part; ++part) made_.stretches[part].steps *= 1 + more;
    so_far_.recomputed += more * (third_->recomputed - second_->recomputed);
    so_far_.came_back += more * (third_->came_back - second_->came_back);
  }

  CacheWork work_;
  double mean_;
  double step_ = 0;             // tokens between nodes
  std::vector<double> ending_;  // [node] of the sequences that reach it, the fraction that ends there
  std::vector<double> held_;    // [node] cache tokens that a sequence holds
  double fresh_;                // sequences that have not entered yet
  std::deque<Cohort> running_;  // in order of entry
  std::deque<Cohort> again_;    // preempted, next to return first
  std::optional<Mark> second_;  // totals after two waves
  std::optional<Mark> third_;   // totals after three waves
  Mark so_far_;
  Occupancy made_;
};

}  // namespace

Occupancy cache_occupancy_of(const workflow::LengthDistribution& lengths, const CacheWork& work) {
  return Cache(lengths, work).simulate();
}

}  // namespace dovetail::cost
