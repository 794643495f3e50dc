#include "fuse/search/walk_phases.h"

#include <algorithm>

namespace dovetail::fuse {
namespace {

using Node = SwapWalk::Node;

/// A uniform random op and what follows it on its device; the low bits are free for a threshold.
struct Proposal {
  Node first;
  Node second;
  std::uint64_t bits;
};

inline Proposal propose(const SwapWalk& walk, base::Random& random) {
  const std::uint64_t bits = random.next();
  const auto first = static_cast<Node>(((bits >> 32) * walk.ops()) >> 32);
  return {first, walk.next(first), bits};
}

inline bool is_neighbour(const SwapWalk& walk, const Proposal& proposal) {
  return !walk.is_none(proposal.second) && !walk.alike(proposal.first, proposal.second);
}

/// Whether the level between the two would leave the capacity, or go further beyond it.
inline bool breaks_capacity(const SwapWalk& walk, const Proposal& proposal, std::int64_t level, const std::vector<std::int64_t>& capacity) {
  return level > walk.level(proposal.first) && level > capacity[static_cast<std::size_t>(walk.device(proposal.first))];
}

inline bool is_refused(SwapWalk& walk, const Proposal& proposal, bool prompt) {
  return prompt ? !walk.is_prompt(proposal.first, proposal.second) : walk.makes_cycle(proposal.first, proposal.second);
}

std::int64_t energy_above(const SwapWalk& walk, std::int64_t cap) {
  std::int64_t energy = 0;
  for (Node op = 0; !walk.is_none(op); ++op) energy += std::max<std::int64_t>(0, walk.level(op) - cap);
  return energy;
}

void lower_cap(const SwapWalk& walk, PeakDescent& descent) {
  descent.cap = std::min(descent.cap, walk.peak()) - descent.step;
  descent.energy = energy_above(walk, descent.cap);
}

/// Up to `count` proposals at one temperature. Returns early, with true, each time nothing exceeds the cap any more.
bool descend(Chain& chain, PeakDescent& descent, std::int64_t& count) {
  SwapWalk& walk = chain.walk;
  const MetropolisTable& table = metropolis_table();
  const double temperature = descent.cooling.temperature;
  const std::int64_t cap = descent.cap;
  const bool limited = !descent.capacity.empty();
  while (count-- > 0) {
    const Proposal proposal = propose(walk, chain.random);
    if (!is_neighbour(walk, proposal)) continue;
    const std::int64_t level = walk.level_between(proposal.first, proposal.second);
    const std::int64_t change = std::max<std::int64_t>(0, level - cap) - std::max<std::int64_t>(0, walk.level(proposal.first) - cap);
    if (change > 0 && static_cast<double>(change) > temperature * table[proposal.bits]) continue;
    if (limited && breaks_capacity(walk, proposal, level, descent.capacity)) continue;
    const SwapWalk::Trial trial = walk.try_swap(proposal.first, proposal.second);
    if (trial.longest > descent.deadline) continue;
    if (is_refused(walk, proposal, descent.prompt)) continue;
    walk.swap(proposal.first, proposal.second, trial);
    descent.energy += change;
    if (descent.energy == 0 && change < 0) return true;
  }
  return false;
}

}  // namespace

Chain chain_from(const pipeline::OpGraph& graph, const pipeline::Order& order, std::uint64_t seed, std::uint64_t stream) {
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

void shorten(Chain& chain, MakespanDescent& descent, std::int64_t iterations, std::int64_t target,
             const std::vector<std::int64_t>& capacity) {
  SwapWalk& walk = chain.walk;
  const MetropolisTable& table = metropolis_table();
  Cooling& cooling = descent.cooling;
  for (std::int64_t done = 0; done < iterations && chain.best_makespan > target; ++done) {
    if (done % Cooling::iterations_a_step == 0) cooling.temperature *= cooling.factor;
    const Proposal proposal = propose(walk, chain.random);
    if (!is_neighbour(walk, proposal)) continue;
    const std::int64_t level = walk.level_between(proposal.first, proposal.second);
    if (!capacity.empty() && breaks_capacity(walk, proposal, level, capacity)) continue;
    const SwapWalk::Trial trial = walk.try_swap(proposal.first, proposal.second);
    const std::int64_t loss = trial.longest - walk.makespan();
    if (loss > 0 && static_cast<double>(loss) > cooling.temperature * table[proposal.bits]) continue;
    // Swaps that leave a device waiting lead among the many bad schedules of equal makespan: mostly the walk is better without them.
    if (is_refused(walk, proposal, descent.prompt)) continue;
    walk.swap(proposal.first, proposal.second, trial);
    if (walk.makespan() < chain.best_makespan) record(chain);
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
  // A tenth of an op's share of heat on every device: more and the cap outruns what the walk can follow.
  constexpr double share_of_heat = 0.1;
  constexpr int steps_between_records = 16;
  const SwapWalk& walk = chain.walk;
  int steps = 0;
  for (std::int64_t done = 0; done < iterations && chain.best_peak > target; done += Cooling::iterations_a_step) {
    std::int64_t count = std::min(Cooling::iterations_a_step, iterations - done);
    while (descend(chain, descent, count)) {
      if (walk.peak() < chain.best_peak) record(chain);
      lower_cap(walk, descent);
    }
    if (++steps % steps_between_records == 0 && walk.peak() < chain.best_peak) record(chain);
    const double small = share_of_heat * descent.cooling.temperature * walk.devices();
    if (static_cast<double>(descent.energy) <= small) lower_cap(walk, descent);
    descent.cooling.temperature *= descent.cooling.factor;
  }
}

void wander(Chain& chain, std::int64_t iterations, std::int64_t deadline, const std::vector<std::int64_t>& limit) {
  SwapWalk& walk = chain.walk;
  for (std::int64_t done = 0; done < iterations; ++done) {
    const Proposal proposal = propose(walk, chain.random);
    if (!is_neighbour(walk, proposal)) continue;
    if (breaks_capacity(walk, proposal, walk.level_between(proposal.first, proposal.second), limit)) continue;
    const SwapWalk::Trial trial = walk.try_swap(proposal.first, proposal.second);
    if (trial.longest > deadline || !walk.is_prompt(proposal.first, proposal.second)) continue;
    walk.swap(proposal.first, proposal.second, trial);
  }
}

}  // namespace dovetail::fuse
