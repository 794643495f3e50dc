#include "fuse/search/swap_walk.h"

#include <utility>

#include "base/assert.h"

namespace dovetail::fuse {
namespace {

using pipeline::OpGraph;
using pipeline::OpId;
using pipeline::Order;
using Place = SwapWalk::Place;

/// Returns, for each op, the number of its class of like ops.
std::vector<std::int32_t> number_classes(const OpGraph& graph) {
  std::vector<std::int32_t> numbers(graph.size());
  std::int32_t classes = 0;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    // The ops of a micro-batch on a stage are adjacent. Those of a class are at most three apart, with optimizer steps
    // at the end.
    std::size_t like = op;
    for (std::size_t back = 1; back <= 3 && back <= op && like == op; ++back)
      if (are_alike(graph.labels[op - back], graph.labels[op])) like = op - back;
    numbers[op] = like == op ? classes++ : numbers[like];
  }
  return numbers;
}

bool has_two_on_a_side(const std::vector<WalkEdge>& edges, std::int32_t WalkEdge::* side, std::size_t nodes) {
  std::vector<bool> has_one(nodes);
  for (const WalkEdge& edge : edges) {
    if (has_one[static_cast<std::size_t>(edge.*side)]) return true;
    has_one[static_cast<std::size_t>(edge.*side)] = true;
  }
  return false;
}

}  // namespace

SwapWalk::SwapWalk(const OpGraph& graph, const Order& order) {
  WalkGraph walk = walk_graph(graph);
  const auto nodes = static_cast<std::size_t>(walk.nodes);
  edges_ = std::move(walk.edges);
  has_more_ = (!edges_.empty() && edges_.front().lag > 0) || has_two_on_a_side(edges_, &WalkEdge::before, nodes) ||
              has_two_on_a_side(edges_, &WalkEdge::after, nodes);
  const std::vector<std::int32_t> classes = number_classes(graph);
  ops_.resize(nodes);
  for (std::size_t op = 0; op < graph.size(); ++op)
    ops_[op] = {graph.duration[op].count(), (graph.acquire[op] - graph.release[op]).count(), classes[op]};
  lay_out(order);
  reset(order);
}

/// Assigns places: the sequences of the devices, then the joints, each between two free places.
void SwapWalk::lay_out(const Order& order) {
  Place place = 0;
  for (const auto& device : order.devices) {
    begin_.push_back(place + 1);
    place += static_cast<Place>(device.size()) + 2;
  }
  const Place on_devices = place;
  place_of_.resize(ops_.size());
  for (std::size_t device = 0; device < order.devices.size(); ++device) {
    last_.push_back(begin_[device] + static_cast<Place>(order.devices[device].size()) - 1);
    device_.resize(index(last_.back()) + 2, static_cast<std::int32_t>(device));
  }
  for (std::size_t node = 0; node < ops_.size(); ++node) {
    if (!is_joint(ops_[node])) continue;
    place_of_[node] = place + 1;
    place += 3;
  }
  const std::size_t places = index(place);
  for (std::vector<std::int64_t>* times : {&end_, &tail_, &duration_, &before_.lag, &after_.lag}) times->resize(places);
  for (std::vector<Place>* neighbours : {&before_.first, &before_.second, &after_.first, &after_.second})
    neighbours->resize(places);
  level_.assign(index(on_devices), -beyond_any_time);
  memory_.resize(level_.size());
  op_.assign(places, -1);
  class_.assign(places, -1);
  seen_.resize(places);
  queue_.resize(places + 3);
  source_ = 0;
  sink_ = last_.front() + 1;
}

/// Initializes a free place. One in front of a sequence ends before everything else, and in reversed time nothing
/// delays its start. One after a sequence is the mirror image.
void SwapWalk::set_free(Place place, bool in_front) {
  end_[index(place)] = in_front ? 0 : beyond_any_time;
  tail_[index(place)] = in_front ? beyond_any_time : 0;
  duration_[index(place)] = 1;
}

void SwapWalk::reset(const Order& order) {
  for (std::size_t device = 0; device < order.devices.size(); ++device) {
    std::int64_t level = floor_.empty() ? 0 : floor_[device];
    Place place = begin_[device];
    set_free(place - 1, true);
    for (const OpId id : order.devices[device]) {
      const Op& op = ops_[id.index()];
      place_of_[id.index()] = place;
      op_[index(place)] = id.value;
      class_[index(place)] = op.class_number;
      duration_[index(place)] = op.duration;
      memory_[index(place)] = op.memory;
      level += op.memory;
      level_[index(place)] = level;
      ++place;
    }
    set_free(place, false);
  }
  for (std::size_t node = 0; node < ops_.size(); ++node) {
    if (!is_joint(ops_[node])) continue;
    op_[index(place_of_[node])] = static_cast<std::int32_t>(node);
    set_free(place_of_[node] - 1, true);
    set_free(place_of_[node] + 1, false);
  }
  link();
  find_times();
}

/// Computes the ends and tails of all ops from scratch.
void SwapWalk::find_times() {
  const std::vector<Place> sorted = topological_order();
  for (const Place place : sorted) end_[index(place)] = std::max(ready(place), end(place - 1)) + duration(place);
  for (std::size_t position = sorted.size(); position-- > 0;) {
    const Place place = sorted[position];
    tail_[index(place)] = std::max(rest(place), tail(place + 1)) + duration(place);
  }
  find_makespan();
}

/// Sets the graph neighbors of every place.
void SwapWalk::link() {
  for (std::vector<Place>* neighbours : {&before_.first, &before_.second})
    std::fill(neighbours->begin(), neighbours->end(), source_);
  for (std::vector<Place>* neighbours : {&after_.first, &after_.second})
    std::fill(neighbours->begin(), neighbours->end(), sink_);
  for (std::vector<std::int64_t>* lags : {&before_.lag, &after_.lag}) std::fill(lags->begin(), lags->end(), 0);
  const auto add = [](WalkNeighbours& neighbours, Place of, Place place, Place none, std::int64_t lag) {
    const bool is_first = neighbours.first[index(of)] == none;
    (is_first ? neighbours.first : neighbours.second)[index(of)] = place;
    if (is_first) neighbours.lag[index(of)] = lag;
  };
  for (const WalkEdge& edge : edges_) {
    const Place before = place_of_[static_cast<std::size_t>(edge.before)];
    const Place after = place_of_[static_cast<std::size_t>(edge.after)];
    add(after_, before, after, sink_, edge.lag);
    add(before_, after, before, source_, edge.lag);
  }
}

std::vector<Place> SwapWalk::topological_order() const {
  std::vector<std::int8_t> waits(end_.size());
  std::vector<Place> sorted;
  sorted.reserve(ops_.size());
  for (const Place place : place_of_) {
    for (const Place before : {place - 1, before_.first[index(place)], before_.second[index(place)]})
      if (!is_free(before)) ++waits[index(place)];
    if (waits[index(place)] == 0) sorted.push_back(place);
  }
  for (std::size_t done = 0; done < sorted.size(); ++done) {
    const Place place = sorted[done];
    for (const Place after : {place + 1, after_.first[index(place)], after_.second[index(place)]})
      if (!is_free(after) && --waits[index(after)] == 0) sorted.push_back(after);
  }
  DOVETAIL_ASSERT(sorted.size() == ops_.size());
  return sorted;
}

std::int64_t SwapWalk::peak() const {
  return std::max<std::int64_t>(0, *std::max_element(level_.begin(), level_.end()));
}

void SwapWalk::find_makespan() {
  latest_ = *std::max_element(last_.begin(), last_.end(), [this](Place a, Place b) { return end(a) < end(b); });
  makespan_ = end(latest_);
}

void SwapWalk::swap(Place first, const Trial& trial) {
  if (has_more_)
    update<true>(first, trial);
  else
    update<false>(first, trial);
}

template <bool more>
void SwapWalk::update(Place first, const Trial& trial) {
  const Place second = first + 1;
  exchange(first);
  WalkFront<1, more>(end_, duration_, before_, after_, queue_).update(first, trial.end_second, trial.end_first);
  WalkFront<-1, more>(tail_, duration_, after_, before_, queue_).update(second, trial.tail_first, trial.tail_second);
  if (trial.longest > makespan_)
    makespan_ = trial.longest;
  else if (end(latest_) != makespan_)
    find_makespan();
}

/// Exchanges the ops at `first` and the next place. The caller sets their times.
void SwapWalk::exchange(Place first) {
  const std::size_t a = index(first);
  redirect(first);
  level_[a] = level_between(first);
  const auto swap_in = [a](auto& values) { std::swap(values[a], values[a + 1]); };
  swap_in(op_);
  swap_in(class_);
  swap_in(duration_);
  swap_in(memory_);
  swap_in(before_.first);
  swap_in(after_.first);
  if (!has_more_) return;
  for (WalkNeighbours* neighbours : {&before_, &after_}) {
    swap_in(neighbours->second);
    swap_in(neighbours->lag);
  }
}

/// Updates the places of the two ops in their graph neighbors. The two may share a neighbor; source_ and sink_ may hold
/// anything.
void SwapWalk::redirect(Place first) {
  const std::size_t a = index(first);
  const std::size_t b = a + 1;
  if (!has_more_) {
    after_.first[index(before_.first[a])] = first + 1;
    after_.first[index(before_.first[b])] = first;
    before_.first[index(after_.first[a])] = first + 1;
    before_.first[index(after_.first[b])] = first;
    return;
  }
  const auto replace = [](WalkNeighbours& there, Place of, Place old_place, Place new_place) {
    for (std::vector<Place>* places : {&there.first, &there.second})
      if ((*places)[index(of)] == old_place) (*places)[index(of)] = new_place;
  };
  constexpr Place moving = -1;
  for (auto [here, there] : {std::pair(&before_, &after_), std::pair(&after_, &before_)}) {
    for (const Place of : {here->first[a], here->second[a]}) replace(*there, of, first, moving);
    for (const Place of : {here->first[b], here->second[b]}) replace(*there, of, first + 1, first);
    for (const Place of : {here->first[a], here->second[a]}) replace(*there, of, moving, first + 1);
  }
}

template <int step>
bool SwapWalk::is_cycle(Place near) {
  const std::vector<std::int64_t>& times = step > 0 ? end_ : tail_;
  const WalkNeighbours& waits = step > 0 ? before_ : after_;
  const WalkNeighbours& holds = step > 0 ? after_ : before_;
  const auto begin = [&](Place place) { return times[index(place)] - duration(place); };
  const Place far = near + step;
  const Place targets[2] = {waits.first[index(far)], waits.second[index(far)]};
  if (targets[0] == near || targets[1] == near) return true;
  // Successors of the near op start after its end.
  const std::int64_t latest = std::max(begin(targets[0]), begin(targets[1]));
  if (latest < times[index(near)]) return false;
  if (++search_ == 0) {  // the search numbers wrap around
    std::fill(seen_.begin(), seen_.end(), 0);
    search_ = 1;
  }
  bool found = false;
  const auto visit = [&](Place place) {
    if (place == far || begin(place) > latest || seen_[index(place)] == search_) return;
    seen_[index(place)] = search_;
    found = found || place == targets[0] || place == targets[1];
    met_.push_back(place);
  };
  met_.clear();
  visit(holds.first[index(near)]);
  visit(holds.second[index(near)]);
  for (std::size_t position = 0; position < met_.size() && !found; ++position) {
    const Place place = met_[position];
    visit(holds.first[index(place)]);
    visit(holds.second[index(place)]);
    visit(place + step);
  }
  return found;
}

template bool SwapWalk::is_cycle<1>(Place near);
template bool SwapWalk::is_cycle<-1>(Place near);

bool SwapWalk::makes_cycle(Place first) { return is_cycle<1>(first); }

Order SwapWalk::order() const {
  Order order;
  order.devices.resize(last_.size());
  for (std::size_t device = 0; device < last_.size(); ++device)
    for (Place place = begin_[device]; place <= last_[device]; ++place)
      order.devices[device].push_back(OpId(op(place)));
  return order;
}

}  // namespace dovetail::fuse
