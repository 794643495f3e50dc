#include "fuse/pattern/pattern_timetable.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace dovetail::fuse {
namespace {

using pipeline::OpKind;

constexpr std::int64_t not_placed = -1;
/// Number of beam states, reduced if the problem is so large that copying them would take seconds.
constexpr std::size_t widest_beam = 64;
constexpr std::size_t max_copied_places = std::size_t{1} << 19;
/// Up to this many ops per device, all their orders are tried.
constexpr std::size_t max_permuted = 4;
/// Above that, the number of orders and of rotations to try.
constexpr std::size_t max_variants = 24;

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t modulo(std::int64_t a, std::int64_t b) { return a - floor_divide(a, b) * b; }

bool is_forward(const PatternClass& op_class) { return op_class.kind == OpKind::F; }

/// One op of a round.
struct Block {
  std::int64_t duration = 0;
  std::int64_t weight = 0;  ///< cost of one tick of waiting
  ClassLink parent;         ///< refers to a block
  std::array<ClassLink, 2> children;
};

struct Blocks {
  std::vector<Block> blocks;
  std::vector<std::size_t> first;  ///< [class] its first block; its other blocks follow
  std::vector<std::vector<std::int32_t>> on_device;
};

/// A hundredth more weight on some classes, which decides how waits that cost the same memory are shared between the
/// directions.
enum class Tilt { none, forward, backward, even_backward, even_forward };
constexpr Tilt tilts[] = {Tilt::none, Tilt::forward, Tilt::backward, Tilt::even_backward, Tilt::even_forward};

std::int64_t tilted_weight(const ClassGraph& graph, const PatternClass& op_class, Tilt tilt) {
  std::int64_t largest = 1;
  for (const PatternPipeline& pipeline : graph.pipelines) largest = std::max(largest, pipeline.max_activation);
  const std::int64_t own = graph.pipelines[static_cast<std::size_t>(op_class.pipeline)].max_activation;
  const std::int64_t weight = 1 + (largest > 1000 ? own / (largest / 100 + 1) : own * 99 / largest);
  const bool even = op_class.pipeline % 2 == 0;
  const bool forward = is_forward(op_class);
  const bool more = (tilt == Tilt::forward && forward) || (tilt == Tilt::backward && !forward) ||
                    (tilt == Tilt::even_backward && even != forward) || (tilt == Tilt::even_forward && even == forward);
  return weight * (more ? 101 : 100);
}

Blocks make_blocks(const ClassGraph& graph, Tilt tilt) {
  Blocks made;
  made.on_device.resize(graph.on_device.size());
  for (const PatternClass& op_class : graph.classes) {
    made.first.push_back(made.blocks.size());
    const std::int64_t weight = tilted_weight(graph, op_class, tilt);
    for (std::int64_t j = 0; j < graph.pipelines[static_cast<std::size_t>(op_class.pipeline)].per_round; ++j) {
      Block block;
      block.duration = op_class.duration;
      block.weight = weight;
      block.parent.lag = op_class.parent.lag;
      const auto self = static_cast<std::int32_t>(made.blocks.size());
      if (op_class.parent.op_class >= 0) {
        block.parent.op_class =
            static_cast<std::int32_t>(made.first[static_cast<std::size_t>(op_class.parent.op_class)]) +
            static_cast<std::int32_t>(j);
        auto& children = made.blocks[static_cast<std::size_t>(block.parent.op_class)].children;
        children[children[0].op_class < 0 ? 0 : 1] = {self, op_class.parent.lag};
      }
      made.on_device[static_cast<std::size_t>(op_class.device)].push_back(self);
      made.blocks.push_back(block);
    }
  }
  return made;
}

/// A state in which some devices have their ops placed.
struct Partial {
  std::vector<std::int64_t> place;  ///< [block] place on the circle, or not_placed
  std::int64_t cost = 0;
};

/// A placement of the ops of one device, added to a partial timetable.
struct Candidate {
  std::int64_t cost = 0;
  std::size_t from = 0;
  std::vector<std::int64_t> places;  ///< in the order of Blocks::on_device
};

class BeamSearch {
 public:
  BeamSearch(const Blocks& blocks, std::int64_t period)
      : blocks_(blocks),
        period_(period),
        unit_(std::max<std::int64_t>(1, period >> 20)),
        scratch_(blocks.blocks.size(), not_placed) {}

  Partial run() {
    const std::size_t width = std::clamp(max_copied_places / blocks_.blocks.size(), std::size_t{1}, widest_beam);
    std::vector<Partial> states(1);
    states[0].place.assign(blocks_.blocks.size(), not_placed);
    for (const auto& ids : blocks_.on_device)
      if (!ids.empty()) states = place_device(states, ids, width);
    return std::move(states[0]);
  }

 private:
  std::vector<Partial> place_device(std::vector<Partial>& states, const std::vector<std::int32_t>& ids,
                                    std::size_t width) {
    std::vector<Candidate> candidates;
    for (std::size_t from = 0; from < states.size(); ++from) add_candidates(candidates, states[from], from, ids);
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return std::tie(a.cost, a.from, a.places) < std::tie(b.cost, b.from, b.places);
    });
    std::vector<const Candidate*> chosen;
    for (const Candidate& candidate : candidates) {
      if (chosen.size() == width) break;
      const bool known = std::any_of(chosen.begin(), chosen.end(),
                                     [&](const Candidate* other) { return other->places == candidate.places; });
      if (!known) chosen.push_back(&candidate);
    }
    std::vector<Partial> next;
    for (const Candidate* candidate : chosen) {
      next.push_back(chosen.size() == 1 ? std::move(states[candidate->from]) : states[candidate->from]);
      next.back().cost = candidate->cost;
      for (std::size_t index = 0; index < ids.size(); ++index)
        next.back().place[static_cast<std::size_t>(ids[index])] = candidate->places[index];
    }
    return next;
  }

  /// Returns the place where the op would not wait for a placed predecessor, or a placed successor would not wait for
  /// it. Otherwise returns not_placed.
  std::int64_t preferred_place(const std::vector<std::int64_t>& place, std::int32_t id) const {
    const Block& block = blocks_.blocks[static_cast<std::size_t>(id)];
    if (block.parent.op_class >= 0 && place[static_cast<std::size_t>(block.parent.op_class)] != not_placed) {
      const auto parent = static_cast<std::size_t>(block.parent.op_class);
      return modulo(place[parent] + blocks_.blocks[parent].duration + block.parent.lag, period_);
    }
    for (const ClassLink& child : block.children)
      if (child.op_class >= 0 && place[static_cast<std::size_t>(child.op_class)] != not_placed)
        return modulo(place[static_cast<std::size_t>(child.op_class)] - block.duration - child.lag, period_);
    return not_placed;
  }

  /// Returns the orders around the circle to try: all orders of a few ops; otherwise the order of the wanted places and
  /// its neighbors.
  std::vector<std::vector<std::int32_t>> orders_of(const Partial& state, const std::vector<std::int32_t>& ids) const {
    std::vector<std::vector<std::int32_t>> orders;
    std::vector<std::int32_t> order = ids;
    if (ids.size() <= max_permuted) {
      do orders.push_back(order);
      while (std::next_permutation(order.begin() + 1, order.end()));
      return orders;
    }
    std::vector<std::pair<std::int64_t, std::int32_t>> preferred;
    for (const std::int32_t id : ids) {
      std::int64_t place = preferred_place(state.place, id);
      const std::int32_t parent = blocks_.blocks[static_cast<std::size_t>(id)].parent.op_class;
      for (const auto& [parent_place, other] : preferred)
        if (place == not_placed && other == parent)
          place = modulo(parent_place + blocks_.blocks[static_cast<std::size_t>(parent)].duration, period_);
      preferred.emplace_back(std::max<std::int64_t>(place, 0), id);
    }
    std::sort(preferred.begin(), preferred.end());
    std::transform(preferred.begin(), preferred.end(), order.begin(), [](const auto& pair) { return pair.second; });
    orders.push_back(order);
    for (std::size_t index = 0; index < std::min(order.size(), max_variants); ++index) {
      std::swap(order[index], order[(index + 1) % order.size()]);
      orders.push_back(order);
      std::swap(order[index], order[(index + 1) % order.size()]);
    }
    return orders;
  }

  void add_candidates(std::vector<Candidate>& candidates, const Partial& state, std::size_t from,
                      const std::vector<std::int32_t>& ids) {
    std::int64_t slack = period_;
    for (const std::int32_t id : ids) slack -= blocks_.blocks[static_cast<std::size_t>(id)].duration;
    for (const auto& order : orders_of(state, ids)) {
      std::vector<std::int64_t> anchors;
      std::int64_t offset = 0;
      for (const std::int32_t id : order) {
        const std::int64_t preferred = preferred_place(state.place, id);
        if (preferred != not_placed) anchors.push_back(modulo(preferred - offset, period_));
        offset += blocks_.blocks[static_cast<std::size_t>(id)].duration;
      }
      if (anchors.empty()) anchors.push_back(0);
      std::sort(anchors.begin(), anchors.end());
      anchors.erase(std::unique(anchors.begin(), anchors.end()), anchors.end());
      if (anchors.size() > max_variants) anchors.resize(max_variants);
      for (const std::int64_t anchor : anchors) {
        candidates.push_back(candidate_at(state, from, ids, order, anchor, 0));
        if (slack > 0) candidates.push_back(candidate_at(state, from, ids, order, anchor, slack));
      }
    }
  }

  Candidate candidate_at(const Partial& state, std::size_t from, const std::vector<std::int32_t>& ids,
                         const std::vector<std::int32_t>& order, std::int64_t anchor, std::int64_t slack) {
    std::int64_t next = anchor;
    for (const std::int32_t id : order) {
      // If the device has idle time, an op is delayed to its wanted place if that is close enough.
      const std::int64_t preferred = slack > 0 ? preferred_place(state.place, id) : not_placed;
      const std::int64_t gap = preferred == not_placed ? 0 : modulo(preferred - next, period_);
      if (gap <= slack) {
        next += gap;
        slack -= gap;
      }
      scratch_[static_cast<std::size_t>(id)] = modulo(next, period_);
      next += blocks_.blocks[static_cast<std::size_t>(id)].duration;
    }
    Candidate candidate;
    candidate.from = from;
    candidate.cost = state.cost;
    for (const std::int32_t id : ids) {
      candidate.cost += cost_of(state, id);
      candidate.places.push_back(scratch_[static_cast<std::size_t>(id)]);
    }
    for (const std::int32_t id : ids) scratch_[static_cast<std::size_t>(id)] = not_placed;
    return candidate;
  }

  /// Returns how long the op waits, and how long its placed successors on other devices wait for it.
  std::int64_t cost_of(const Partial& state, std::int32_t id) const {
    const Block& block = blocks_.blocks[static_cast<std::size_t>(id)];
    const std::int64_t own = scratch_[static_cast<std::size_t>(id)];
    std::int64_t cost = 0;
    if (block.parent.op_class >= 0) {
      const auto parent = static_cast<std::size_t>(block.parent.op_class);
      const std::int64_t place = scratch_[parent] != not_placed ? scratch_[parent] : state.place[parent];
      if (place != not_placed)
        cost +=
            modulo(own - place - blocks_.blocks[parent].duration - block.parent.lag, period_) / unit_ * block.weight;
    }
    for (const ClassLink& link : block.children) {
      if (link.op_class < 0) continue;
      const auto child = static_cast<std::size_t>(link.op_class);
      if (scratch_[child] != not_placed || state.place[child] == not_placed) continue;
      cost +=
          modulo(state.place[child] - own - block.duration - link.lag, period_) / unit_ * blocks_.blocks[child].weight;
    }
    return cost;
  }

  const Blocks& blocks_;
  std::int64_t period_;
  std::int64_t unit_;
  std::vector<std::int64_t> scratch_;  // [block] places on the current device
};

/// Returns the times of micro-batches that take the places in turn, each op at its first place after its predecessors.
Timetable timetable_of(const ClassGraph& graph, const Blocks& blocks, const std::vector<std::int64_t>& place,
                       std::int64_t period) {
  std::vector<std::int64_t> time(place.size());
  for (std::size_t id = 0; id < place.size(); ++id) {
    const ClassLink& parent = blocks.blocks[id].parent;
    time[id] = place[id];
    if (parent.op_class < 0) continue;
    const auto before = static_cast<std::size_t>(parent.op_class);
    const std::int64_t ready = time[before] + blocks.blocks[before].duration + parent.lag;
    time[id] = ready + modulo(place[id] - ready, period);
  }
  Timetable made;
  made.period = period;
  for (std::size_t index = 0; index < graph.classes.size(); ++index) {
    const auto count =
        static_cast<std::size_t>(graph.pipelines[static_cast<std::size_t>(graph.classes[index].pipeline)].per_round);
    const std::int64_t* own = time.data() + blocks.first[index];
    std::vector<std::int64_t>& starts = made.starts.emplace_back(count);
    // Renumber the micro-batches in time order on each class. Sorting preserves all dependencies.
    for (std::size_t j = 0; j < count; ++j) {
      std::int64_t rank = -1;
      for (std::size_t other = 0; other < count; ++other) rank += floor_divide(own[j] - own[other], period) + 1;
      const std::int64_t round = floor_divide(rank, static_cast<std::int64_t>(count));
      starts[static_cast<std::size_t>(rank - round * static_cast<std::int64_t>(count))] = own[j] - round * period;
    }
  }
  return made;
}

/// Returns a lower bound, in parts of the period, on the idle time in warm-up and drain on the busiest devices if work
/// were divisible: a device whose mean place is x ahead of another cannot start x earlier.
std::int64_t min_idle(const ClassGraph& graph, const Timetable& timetable) {
  const std::int64_t unit = std::max<std::int64_t>(1, timetable.period >> 20);
  std::vector<std::int64_t> head(graph.classes.size());
  std::vector<std::int64_t> tail(graph.classes.size());
  for (std::size_t index = 0; index < head.size(); ++index) {
    const ClassLink& parent = graph.classes[index].parent;
    if (parent.op_class < 0) continue;
    const auto before = static_cast<std::size_t>(parent.op_class);
    head[index] = head[before] + graph.classes[before].duration + parent.lag;
  }
  for (std::size_t index = tail.size(); index-- > 0;) {
    const ClassLink& parent = graph.classes[index].parent;
    if (parent.op_class < 0) continue;
    std::int64_t& before = tail[static_cast<std::size_t>(parent.op_class)];
    before = std::max(before, tail[index] + graph.classes[index].duration + parent.lag);
  }
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min() / 4;
  std::int64_t early = least;
  std::int64_t late = least;
  for (const auto& classes : graph.on_device) {
    std::int64_t work = 0, mean = 0, first = -least, last = -least;
    for (const std::int32_t id : classes) {
      const auto index = static_cast<std::size_t>(id);
      for (const std::int64_t start : timetable.starts[index]) {
        work += graph.classes[index].duration;
        mean += (graph.classes[index].duration + unit - 1) / unit * (start / unit) / (timetable.period / unit);
      }
      first = std::min(first, head[index] / unit);
      last = std::min(last, tail[index] / unit);
    }
    if (work < graph.period) continue;
    early = std::max(early, first - mean);
    late = std::max(late, last + mean);
  }
  return early + late;
}

}  // namespace

std::int64_t Timetable::first_from(std::size_t op_class, std::int64_t time) const {
  std::int64_t count = 0;
  for (const std::int64_t start : starts[op_class]) count += floor_divide(time - 1 - start, period) + 1;
  return count;
}

Timetable make_timetable(const ClassGraph& graph, std::int64_t period) {
  Timetable best;
  std::pair<std::int64_t, std::int64_t> least{std::numeric_limits<std::int64_t>::max(), 0};
  for (const Tilt tilt : tilts) {
    const Blocks blocks = make_blocks(graph, tilt);
    const Partial placed = BeamSearch(blocks, period).run();
    Timetable timetable = timetable_of(graph, blocks, placed.place, period);
    const std::pair value{min_idle(graph, timetable), placed.cost};
    if (value >= least) continue;
    least = value;
    best = std::move(timetable);
  }
  return best;
}

Timetable with_buffers(const ClassGraph& graph, Timetable timetable, const std::vector<std::int64_t>& extra_rounds) {
  std::vector<std::int64_t> stages(graph.pipelines.size());
  for (const PatternClass& op_class : graph.classes)
    stages[static_cast<std::size_t>(op_class.pipeline)] =
        std::max<std::int64_t>(stages[static_cast<std::size_t>(op_class.pipeline)], op_class.stage + 1);
  for (std::size_t index = 0; index < graph.classes.size(); ++index) {
    const PatternClass& op_class = graph.classes[index];
    if (is_forward(op_class)) continue;
    const auto pipeline = static_cast<std::size_t>(op_class.pipeline);
    const std::int64_t rounds = extra_rounds[pipeline] * (stages[pipeline] - op_class.stage) / stages[pipeline];
    for (std::int64_t& start : timetable.starts[index]) start += rounds * timetable.period;
  }
  return timetable;
}

std::vector<std::int64_t> in_flight_of(const ClassGraph& graph, const Timetable& timetable) {
  std::vector<std::size_t> forward(graph.stages.size());
  std::vector<std::int64_t> most(graph.stages.size());
  // The last to end counts: B, or W, which comes after its I.
  for (std::size_t index = 0; index < graph.classes.size(); ++index) {
    const auto slot = static_cast<std::size_t>(graph.classes[index].slot);
    if (is_forward(graph.classes[index])) {
      forward[slot] = index;
      continue;
    }
    most[slot] = 0;
    const std::vector<std::int64_t>& starts = timetable.starts[forward[slot]];
    for (std::size_t j = 0; j < starts.size(); ++j) {
      const std::int64_t ended = timetable.first_from(index, starts[j] - graph.classes[index].duration + 1);
      most[slot] = std::max(most[slot], static_cast<std::int64_t>(j) + 1 - ended);
    }
    most[slot] =
        std::min(most[slot], graph.pipelines[static_cast<std::size_t>(graph.classes[index].pipeline)].microbatches);
  }
  return most;
}

std::vector<std::int64_t> activation_of(const ClassGraph& graph, const std::vector<std::int64_t>& in_flight) {
  std::vector<std::int64_t> held(graph.on_device.size());
  for (std::size_t slot = 0; slot < in_flight.size(); ++slot)
    held[static_cast<std::size_t>(graph.stages[slot].device)] += graph.stages[slot].activation * in_flight[slot];
  return held;
}

std::int64_t rounds_in_flight(const ClassGraph& graph, const Timetable& timetable) {
  std::vector<std::int64_t> first(graph.pipelines.size());
  std::int64_t longest = 0;
  for (std::size_t index = 0; index < graph.classes.size(); ++index) {
    const PatternClass& op_class = graph.classes[index];
    std::int64_t& begin = first[static_cast<std::size_t>(op_class.pipeline)];
    if (op_class.parent.op_class < 0) begin = timetable.starts[index][0];
    longest = std::max(longest, timetable.starts[index][0] + op_class.duration - begin);
  }
  return (longest + timetable.period - 1) / timetable.period;
}

}  // namespace dovetail::fuse
