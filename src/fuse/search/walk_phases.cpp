#include "fuse/search/walk_phases.h"

#include <algorithm>

#include "fuse/search/makespan_walk.h"
#include "fuse/solution/variation.h"

namespace dovetail::fuse {
namespace {

using Place = SwapWalk::Place;

/// Whether the level between the two ops would exceed the capacity, or exceed it further.
inline bool breaks_capacity(const SwapWalk& walk, Place first, std::int64_t level,
                            const std::vector<std::int64_t>& capacity) {
  return level > walk.level(first) && level > capacity[static_cast<std::size_t>(walk.device(first))];
}

inline std::int64_t beyond(std::int64_t level, std::int64_t headroom) {
  return std::max<std::int64_t>(0, level - headroom);
}

/// Returns the sum over all levels of the excess over headroom_of(place).
template <class HeadroomOf>
double energy_above(const SwapWalk& walk, HeadroomOf headroom_of) {
  double energy = 0;
  for (Place place = 0; place < static_cast<Place>(walk.places()); ++place)
    energy += static_cast<double>(beyond(walk.level(place), headroom_of(place)));
  return energy;
}

void lower_cap(const SwapWalk& walk, PeakDescent& descent) {
  descent.cap = std::min(descent.cap, walk.peak()) - descent.step;
  descent.energy = energy_above(walk, [&](Place) { return descent.cap; });
}

/// Does up to `count` proposals at one temperature. Returns true early each time no level exceeds the cap.
bool walk_down(Chain& chain, PeakDescent& descent, std::int64_t& count) {
  SwapWalk& walk = chain.walk;
  const MetropolisTable& table = metropolis_table();
  const double temperature = descent.cooling.temperature;
  const std::int64_t cap = descent.cap;
  const bool limited = !descent.capacity.empty();
  while (count-- > 0) {
    const std::uint64_t bits = chain.random.next();
    const Place first = walk.draw(bits);
    if (!walk.can_swap(first)) continue;
    const std::int64_t level = walk.level_between(first);
    const std::int64_t change = beyond(level, cap) - beyond(walk.level(first), cap);
    if (change > 0 && static_cast<double>(change) > temperature * table[bits]) continue;
    if (limited && breaks_capacity(walk, first, level, descent.capacity)) continue;
    const SwapWalk::Trial trial = walk.try_swap(first);
    if (trial.longest > descent.deadline) continue;
    if (descent.prompt ? !walk.is_prompt(first) : walk.makes_cycle(first)) continue;
    walk.swap(first, trial);
    descent.energy += static_cast<double>(change);
    if (descent.energy == 0 && change < 0) return true;
  }
  return false;
}

}  // namespace

Chain chain_from(const pipeline::OpGraph& graph, const pipeline::Order& order, std::uint64_t seed,
                 std::uint64_t stream) {
  Chain chain{SwapWalk(graph, order), base::Random(seed, stream), order};
  chain.best_makespan = chain.walk.makespan();
  chain.best_peak = chain.walk.peak();
  return chain;
}

void record(Chain& chain) {
  chain.best = chain.walk.order();
  chain.best_makespan = chain.walk.makespan();
  chain.best_peak = chain.walk.peak();
}

namespace {

/// Implements shorten() with a price for exceeding the capacity.
void shorten_at_price(Chain& chain, MakespanDescent& descent, std::int64_t iterations, std::int64_t target,
                      const std::vector<std::int64_t>& capacity) {
  SwapWalk& walk = chain.walk;
  const MetropolisTable& table = metropolis_table();
  Cooling& cooling = descent.cooling;
  MakespanWalk steps(walk, descent.prompt);
  const auto headroom_of = [&](Place place) { return capacity[static_cast<std::size_t>(walk.device(place))]; };
  double excess = energy_above(walk, headroom_of);
  for (std::int64_t done = 0; done < iterations && chain.best_makespan > target; ++done) {
    if (done % Cooling::iterations_a_step == 0) {
      cooling.temperature *= cooling.factor;
      descent.price *= descent.price_factor;
    }
    const std::uint64_t bits = chain.random.next();
    const Place first = walk.draw(bits);
    if (!walk.can_swap(first)) continue;
    const auto change = static_cast<double>(beyond(walk.level_between(first), headroom_of(first)) -
                                            beyond(walk.level(first), headroom_of(first)));
    const double loss = cooling.temperature * table[bits] - descent.price * change;
    if (loss < 0 || steps.step(first, loss) != MakespanWalk::Outcome::made) continue;
    excess += change;
    // With large activations the sum is not exact.
    if (excess <= 0 && walk.makespan() < chain.best_makespan && energy_above(walk, headroom_of) == 0) record(chain);
  }
}

}  // namespace

void restart(Chain& chain, const pipeline::Order& order) {
  chain.walk.reset(order);
  record(chain);
}

void shorten(Chain& chain, MakespanDescent& descent, std::int64_t iterations, std::int64_t target,
             const std::vector<std::int64_t>& capacity) {
  if (descent.price > 0 && !capacity.empty()) return shorten_at_price(chain, descent, iterations, target, capacity);
  SwapWalk& walk = chain.walk;
  const MetropolisTable& table = metropolis_table();
  Cooling& cooling = descent.cooling;
  // Swaps that leave a device waiting lead into the many bad schedules of equal makespan. Without them the walk is
  // usually better.
  MakespanWalk steps(walk, descent.prompt);
  for (std::int64_t done = 0; done < iterations && chain.best_makespan > target; ++done) {
    if (done % Cooling::iterations_a_step == 0) cooling.temperature *= cooling.factor;
    const std::uint64_t bits = chain.random.next();
    const Place first = walk.draw(bits);
    if (!walk.can_swap(first)) continue;
    if (!capacity.empty() && breaks_capacity(walk, first, walk.level_between(first), capacity)) continue;
    const double loss = cooling.temperature * table[bits];
    if (steps.step(first, loss) == MakespanWalk::Outcome::made && walk.makespan() < chain.best_makespan) record(chain);
  }
}

PeakDescent descent_from(const Chain& chain, const Cooling& cooling, std::int64_t deadline, std::int64_t step,
                         const std::vector<std::int64_t>& capacity) {
  PeakDescent descent{cooling, deadline, step, capacity};
  descent.cap = chain.walk.peak();
  lower_cap(chain.walk, descent);
  return descent;
}

void lower_peak(Chain& chain, PeakDescent& descent, std::int64_t iterations, std::int64_t target) {
  // A tenth of an op's share of the heat on every device. With more, the cap moves faster than the walk can follow.
  constexpr double share_of_heat = 0.1;
  constexpr int steps_between_records = 16;
  const SwapWalk& walk = chain.walk;
  int steps = 0;
  for (std::int64_t done = 0; done < iterations && chain.best_peak > target; done += Cooling::iterations_a_step) {
    std::int64_t count = std::min(Cooling::iterations_a_step, iterations - done);
    while (walk_down(chain, descent, count)) {
      if (walk.peak() < chain.best_peak) record(chain);
      lower_cap(walk, descent);
    }
    if (++steps % steps_between_records == 0 && walk.peak() < chain.best_peak) record(chain);
    const double small = share_of_heat * descent.cooling.temperature * walk.devices();
    if (descent.energy <= small) lower_cap(walk, descent);
    descent.cooling.temperature *= descent.cooling.factor;
  }
}

void wander(Chain& chain, std::int64_t iterations, std::int64_t deadline, const std::vector<std::int64_t>& limit) {
  SwapWalk& walk = chain.walk;
  for (std::int64_t done = 0; done < iterations; ++done) {
    const std::uint64_t bits = chain.random.next();
    const Place first = walk.draw(bits);
    if (!walk.can_swap(first)) continue;
    if (breaks_capacity(walk, first, walk.level_between(first), limit)) continue;
    const SwapWalk::Trial trial = walk.try_swap(first);
    if (trial.longest > deadline || !walk.is_prompt(first)) continue;
    walk.swap(first, trial);
  }
}

std::int64_t robustness(const pipeline::OpGraph& graph, const pipeline::Order& order, std::int64_t makespan,
                        const RobustnessMeasure& measure) {
  VariationOptions options;
  options.draws = measure.draws;
  options.seed = measure.seed;
  const std::int64_t late = vary_durations(graph, order, options).percentile_95_thousandths;
  if (measure.percent == 0) return late;
  // Split into hundreds and remainder, because times may use all 64 bits.
  const auto share = [](std::int64_t time, int percent) { return time / 100 * percent + time % 100 * percent / 100; };
  const std::int64_t planned = std::min(makespan, std::int64_t{1} << 51) * 1000;
  return share(planned, 100 - measure.percent) + share(late, measure.percent);
}

void walk_for_robustness(Chain& chain, const pipeline::OpGraph& graph, std::int64_t deadline, std::int64_t peak,
                         const std::vector<std::int64_t>& capacity, const RobustnessMeasure& measure, int samples,
                         std::int64_t iterations) {
  std::vector<std::int64_t> limit(static_cast<std::size_t>(chain.walk.devices()), peak);
  for (std::size_t device = 0; device < capacity.size(); ++device) limit[device] = std::min(peak, capacity[device]);
  chain.walk.reset(chain.best);
  for (int sample = 0; sample < samples; ++sample) {
    wander(chain, iterations, deadline, limit);
    const std::int64_t makespan = chain.walk.makespan();
    pipeline::Order order = chain.walk.order();
    const std::int64_t score = robustness(graph, order, makespan, measure);
    if (score < chain.best_score && (measure.percent > 0 || makespan <= chain.best_makespan)) {
      record(chain);
      chain.best_score = score;
    } else {
      chain.walk.reset(chain.best);
    }
  }
}

}  // namespace dovetail::fuse
