#include "fuse/search/swap_walk.h"

#include <limits>
#include <utility>

#include "base/assert.h"

namespace dovetail::fuse {
namespace {

using pipeline::OpGraph;
using pipeline::OpId;
using pipeline::Order;
using Place = SwapWalk::Place;

// Larger than any time, and small enough to add to.
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 4;

/// [op] the number of its class of like ops.
std::vector<std::int32_t> number_classes(const OpGraph& graph) {
  std::vector<std::int32_t> numbers(graph.size());
  std::int32_t classes = 0;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    // The ops of a micro-batch on a stage stand together; those of a class are at most three apart, with steps at the end.
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

/// An op behind one that ends at `now`, no longer at `before`, is to be looked at again if it starts before this: where the end grew,
/// what it now holds back; where it fell, what it held back.
std::int64_t reach_of(std::int64_t now, std::int64_t before) { return std::max(now, before) + (now < before ? 1 : 0); }

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

/// Which places are whose: the sequences of the devices, then the joints, each between two free places.
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
  for (std::vector<Place>* neighbours : {&before_.first, &before_.second, &after_.first, &after_.second}) neighbours->resize(places);
  level_.assign(index(on_devices), -never);
  memory_.resize(level_.size());
  op_.assign(places, -1);
  class_.assign(places, -1);
  seen_.resize(places);
  queue_.resize(places + 3);
  source_ = 0;
  sink_ = last_.front() + 1;
}

/// A free place in front of a sequence ends at once, and waits for nothing; one behind it starts never, and nothing waits for it.
void SwapWalk::set_free(Place place, bool in_front) {
  end_[index(place)] = in_front ? 0 : never;
  tail_[index(place)] = in_front ? never : 0;
  duration_[index(place)] = in_front ? 1 : 0;  // it starts before anything ends
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
  const std::vector<Place> sorted = topological_order();
  for (const Place place : sorted) end_[index(place)] = std::max(ready(place), end(place - 1)) + duration(place);
  for (std::size_t position = sorted.size(); position-- > 0;) {
    const Place place = sorted[position];
    tail_[index(place)] = std::max(rest(place), tail(place + 1)) + duration(place);
  }
  find_makespan();
}

/// The neighbours of every place in the graph.
void SwapWalk::link() {
  for (std::vector<Place>* neighbours : {&before_.first, &before_.second}) std::fill(neighbours->begin(), neighbours->end(), source_);
  for (std::vector<Place>* neighbours : {&after_.first, &after_.second}) std::fill(neighbours->begin(), neighbours->end(), sink_);
  for (std::vector<std::int64_t>* lags : {&before_.lag, &after_.lag}) std::fill(lags->begin(), lags->end(), 0);
  const auto add = [](Neighbours& neighbours, Place of, Place place, Place none, std::int64_t lag) {
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

std::int64_t SwapWalk::peak() const { return std::max<std::int64_t>(0, *std::max_element(level_.begin(), level_.end())); }

void SwapWalk::find_makespan() {
  makespan_ = 0;
  for (const Place last : last_) makespan_ = std::max(makespan_, end(last));
}

void SwapWalk::swap(Place first, const Trial& trial) {
  if (has_more_)
    update<true>(first, trial);
  else
    update<false>(first, trial);
}

/// Longest paths are the same before and behind an op but for the direction. Ends run forward: times are ends, `waits` the neighbours
/// before an op, `holds` those behind it. Tails run backward. The pointers are copies: nothing that the loops write can change them.
template <int step, bool more>
struct SwapWalk::Front {
  std::int64_t* times;
  const std::int64_t* duration;
  const Place* waits_first;
  const Place* waits_second;
  const std::int64_t* waits_lag;
  const Place* holds_first;
  const Place* holds_second;
  const std::int64_t* holds_lag;
  std::vector<Place>& room;
  Place* queue;
  std::size_t queued = 0;

  Front(SwapWalk& walk, std::vector<std::int64_t>& of, const Neighbours& waits, const Neighbours& holds)
      : times(of.data()),
        duration(walk.duration_.data()),
        waits_first(waits.first.data()),
        waits_second(waits.second.data()),
        waits_lag(waits.lag.data()),
        holds_first(holds.first.data()),
        holds_second(holds.second.data()),
        holds_lag(holds.lag.data()),
        room(walk.queue_),
        queue(room.data()) {}

  std::int64_t begin(Place place) const { return times[place] - duration[place]; }
  /// Whether a place is queued is as good as random: a branch on it would cost more than all the rest.
  void push_if(Place place, bool wanted) {
    queue[queued] = place;
    queued += wanted ? 1 : 0;
  }
  void make_room() {
    if (queued + 3 <= room.size()) return;
    room.resize(2 * room.size());
    queue = room.data();
  }
  /// Queues what the op at `place` holds back in the graph now and did not, or did and no longer does.
  void push_held(Place place, std::int64_t reach) {
    make_room();
    push_if(holds_first[place], reach + (more ? holds_lag[place] : 0) > begin(holds_first[place]));
    if constexpr (more) push_if(holds_second[place], reach > begin(holds_second[place]));
  }
  /// From each queued place on, along its device, until nothing changes any more. Whether a device's last op changed.
  bool run() {
    bool reached_the_last = false;
    for (std::size_t position = 0; position < queued; ++position) {
      Place place = queue[position];
      std::int64_t now = times[place - step];
      std::int64_t old = times[place];
      for (;;) {
        now = std::max(now, times[waits_first[place]] + (more ? waits_lag[place] : 0));
        if constexpr (more) now = std::max(now, times[waits_second[place]]);
        now += duration[place];
        if (now == old) break;
        times[place] = now;
        const std::int64_t reach = reach_of(now, old);
        push_held(place, reach);
        place += step;
        old = times[place];
        if (reach > old - duration[place]) continue;
        reached_the_last = reached_the_last || old == never;
        break;
      }
    }
    return reached_the_last;
  }
};

template <bool more>
void SwapWalk::update(Place first, const Trial& trial) {
  const Place second = first + 1;
  const std::int64_t old_end[2] = {end(first), end(second)};
  const std::int64_t old_tail[2] = {tail(first), tail(second)};
  level_[index(first)] = level_between(first);
  exchange(first);
  end_[index(first)] = trial.end_second;
  end_[index(second)] = trial.end_first;
  tail_[index(first)] = trial.tail_second;
  tail_[index(second)] = trial.tail_first;

  Front<1, more> ends(*this, end_, before_, after_);
  ends.push_held(first, reach_of(trial.end_second, old_end[1]));
  ends.push_held(second, reach_of(trial.end_first, old_end[0]));
  ends.push_if(second + 1, reach_of(trial.end_first, old_end[1]) > head(second + 1));
  const bool last_moved = ends.run() || is_free(second + 1);

  Front<-1, more> tails(*this, tail_, after_, before_);
  tails.push_held(second, reach_of(trial.tail_first, old_tail[0]));
  tails.push_held(first, reach_of(trial.tail_second, old_tail[1]));
  tails.push_if(first - 1, reach_of(trial.tail_second, old_tail[0]) > tail(first - 1) - duration(first - 1));
  tails.run();

  if (last_moved) find_makespan();
}

/// The ops at `first` and behind it change places; their times and levels are set by the caller.
void SwapWalk::exchange(Place first) {
  const std::size_t a = index(first);
  redirect(first);
  const auto swap_in = [a](auto& values) { std::swap(values[a], values[a + 1]); };
  swap_in(op_);
  swap_in(class_);
  swap_in(duration_);
  swap_in(memory_);
  swap_in(before_.first);
  swap_in(after_.first);
  if (!has_more_) return;
  for (Neighbours* neighbours : {&before_, &after_}) {
    swap_in(neighbours->second);
    swap_in(neighbours->lag);
  }
}

/// What the neighbours in the graph know of the places of the two. The two may share a neighbour; source_ and sink_ may hold anything.
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
  const auto replace = [](Neighbours& there, Place of, Place old_place, Place new_place) {
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

bool SwapWalk::leads_to_second(Place first) {
  if (++search_ == 0) {  // the numbers of searches begin again
    std::fill(seen_.begin(), seen_.end(), 0);
    search_ = 1;
  }
  const Place second = first + 1;
  const Place targets[2] = {before_.first[index(second)], before_.second[index(second)]};
  bool found = targets[0] == first || targets[1] == first;
  const std::int64_t latest = std::max(head(targets[0]), head(targets[1]));
  const auto visit = [&](Place place) {
    if (place == second || head(place) > latest || seen_[index(place)] == search_) return;
    seen_[index(place)] = search_;
    found = found || place == targets[0] || place == targets[1];
    met_.push_back(place);
  };
  met_.clear();
  visit(after_.first[index(first)]);
  visit(after_.second[index(first)]);
  for (std::size_t position = 0; position < met_.size() && !found; ++position) {
    const Place place = met_[position];
    visit(after_.first[index(place)]);
    visit(after_.second[index(place)]);
    visit(place + 1);
  }
  return found;
}

Order SwapWalk::order() const {
  Order order;
  order.devices.resize(last_.size());
  for (std::size_t device = 0; device < last_.size(); ++device)
    for (Place place = begin_[device]; place <= last_[device]; ++place) order.devices[device].push_back(OpId(op(place)));
  return order;
}

}  // namespace dovetail::fuse
