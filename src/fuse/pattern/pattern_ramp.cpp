#include "fuse/pattern/pattern_ramp.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace dovetail::fuse {
namespace {

using pipeline::OpKind;

constexpr std::int64_t far_future = std::numeric_limits<std::int64_t>::max() / 2;

/// Direction of a pass: from the idle devices to the cut, or back.
enum class Direction { to_cut, from_cut };

/// A class in the current direction.
struct Role {
  std::int64_t duration = 0;
  std::int64_t count = 0;
  std::size_t first = 0;
  std::int64_t activation = 0;
  std::int32_t slot = 0;
  std::int32_t device = 0;
  bool takes = false;    ///< begins a micro-batch's stay on the stage
  bool returns = false;  ///< ends a micro-batch's stay on the stage
  std::array<ClassLink, 2> waits_for;
  std::array<ClassLink, 2> waited_for_by;
};

/// One pass over a ramp: whenever a device is free, it starts the op with the smallest key that may start.
class RampScheduler {
 public:
  RampScheduler(const RampTask& task, Direction direction, const std::vector<std::int64_t>& slack,
                const std::vector<std::int64_t>& key)
      : task_(task),
        graph_(*task.side.graph),
        direction_(direction),
        slack_(slack),
        key_(key),
        end_(task.first.back()) {
    make_roles();
    const std::size_t devices = graph_.on_device.size();
    free_.assign(devices, 0);
    held_.assign(devices, 0);
    reserve_.assign(devices, 0);
    in_flight_.assign(graph_.stages.size(), 0);
    done_.assign(roles_.size(), 0);
    ramp_.order.resize(devices);
    ramp_.start.resize(task.first.back());
    if (direction_ == Direction::from_cut) start_at_cut();
    for (std::size_t slot = 0; slot < graph_.stages.size(); ++slot)
      reserve_[device_of(slot)] +=
          graph_.stages[slot].activation * std::max<std::int64_t>(0, task_.in_flight[slot] - in_flight_[slot]);
  }

  /// Returns nullopt if the ops deadlock.
  std::optional<Ramp> run() && {
    for (std::size_t device = 0; device < free_.size(); ++device)
      if (!graph_.on_device[device].empty()) events_.emplace(free_[device], device);
    while (!events_.empty()) {
      const auto [now, device] = events_.top();
      events_.pop();
      if (free_[device] <= now) start_next(device, now);
    }
    if (started_ < end_.size()) return std::nullopt;
    if (direction_ == Direction::to_cut) set_lateness();
    return std::move(ramp_);
  }

 private:
  std::size_t device_of(std::size_t slot) const { return static_cast<std::size_t>(graph_.stages[slot].device); }

  void make_roles() {
    const bool reversed = task_.side.from_end != (direction_ == Direction::from_cut);
    std::vector<bool> has_weight_gradient(graph_.stages.size());
    for (const PatternClass& op_class : graph_.classes)
      if (op_class.kind == OpKind::W) has_weight_gradient[static_cast<std::size_t>(op_class.slot)] = true;
    for (std::size_t index = 0; index < graph_.classes.size(); ++index) {
      const PatternClass& op_class = graph_.classes[index];
      const bool first = op_class.kind == OpKind::F;
      const bool last =
          op_class.kind == OpKind::W || (!first && !has_weight_gradient[static_cast<std::size_t>(op_class.slot)]);
      const std::array<ClassLink, 2> parent{op_class.parent, ClassLink{}};
      roles_.push_back({op_class.duration, task_.count[index], task_.first[index],
                        graph_.stages[static_cast<std::size_t>(op_class.slot)].activation, op_class.slot,
                        op_class.device, reversed ? last : first, reversed ? first : last,
                        reversed ? graph_.children[index] : parent, reversed ? parent : graph_.children[index]});
    }
  }

  /// Sets the state of the timetable at the cut: what is in flight, and when each device starts the pattern.
  void start_at_cut() {
    free_.assign(free_.size(), -far_future);
    for (std::size_t index = 0; index < roles_.size(); ++index) {
      const Role& role = roles_[index];
      const auto slot = static_cast<std::size_t>(role.slot);
      const auto device = static_cast<std::size_t>(role.device);
      // Seen from the cut, ops that "take" have already run beyond it, and ops that "return" have not.
      if (role.takes) in_flight_[slot] -= role.count;
      if (role.returns) in_flight_[slot] += role.count;
      free_[device] = std::max(free_[device], slack_[device] - task_.side.at(index, role.count));
    }
    for (std::size_t slot = 0; slot < in_flight_.size(); ++slot)
      held_[device_of(slot)] += graph_.stages[slot].activation * in_flight_[slot];
    for (const std::int64_t held : held_) ramp_.peak = std::max(ramp_.peak, held);
  }

  /// Returns when the predecessors of op `j` of a class have ended, or `far_future` if one has not started.
  std::int64_t ready_time(const Role& role, std::int64_t j) const {
    std::int64_t ready = -far_future;
    for (const ClassLink& link : role.waits_for) {
      if (link.op_class < 0) break;
      const auto index = static_cast<std::size_t>(link.op_class);
      const Role& other = roles_[index];
      const std::int64_t position = direction_ == Direction::to_cut ? j : j + other.count - role.count;
      if (position >= done_[index]) return far_future;
      const std::int64_t ended =
          position >= 0 ? end_[other.first + static_cast<std::size_t>(position)]
                        : slack_[static_cast<std::size_t>(other.device)] - task_.side.at(index, role.count - 1 - j);
      ready = std::max(ready, ended + link.lag);
    }
    return ready;
  }

  bool has_space(const Role& role) const {
    const auto slot = static_cast<std::size_t>(role.slot);
    const auto device = static_cast<std::size_t>(role.device);
    return !role.takes || in_flight_[slot] < task_.in_flight[slot] ||
           held_[device] + role.activation + reserve_[device] <= task_.headroom[device];
  }

  /// Returns the index, in arrays of all ops, of the j-th op of a class that this pass starts.
  std::size_t op_index(const Role& role, std::int64_t j) const {
    return role.first + static_cast<std::size_t>(direction_ == Direction::to_cut ? j : role.count - 1 - j);
  }

  void start_next(std::size_t device, std::int64_t now) {
    std::int32_t best = -1;
    std::int64_t best_key = 0;
    std::int64_t wake = far_future;
    for (const std::int32_t id : graph_.on_device[device]) {
      const Role& role = roles_[static_cast<std::size_t>(id)];
      const std::int64_t j = done_[static_cast<std::size_t>(id)];
      if (j >= role.count || !has_space(role)) continue;
      const std::int64_t ready = ready_time(role, j);
      if (ready > now) {
        wake = std::min(wake, ready);
        continue;
      }
      const std::int64_t time = key_[op_index(role, j)];
      const std::int64_t key = direction_ == Direction::to_cut ? time : -time;
      if (best >= 0 && key >= best_key) continue;
      best = id;
      best_key = key;
    }
    if (best >= 0)
      start(static_cast<std::size_t>(best), device, now);
    else if (wake < far_future)
      events_.emplace(wake, device);
  }

  void start(std::size_t index, std::size_t device, std::int64_t now) {
    const Role& role = roles_[index];
    const std::int64_t end = now + role.duration;
    const std::int64_t j = done_[index]++;
    end_[role.first + static_cast<std::size_t>(j)] = end;
    ramp_.start[op_index(role, j)] = direction_ == Direction::to_cut ? now : -end;
    ramp_.order[device].push_back(static_cast<std::int32_t>(index));
    free_[device] = end;
    ++started_;
    count_memory(role, device);
    events_.emplace(end, device);
    for (const ClassLink& link : role.waited_for_by) {
      if (link.op_class < 0) break;
      const auto other = static_cast<std::size_t>(roles_[static_cast<std::size_t>(link.op_class)].device);
      // A busy device checks again when it becomes free.
      if (other != device && free_[other] <= now) events_.emplace(end + link.lag, other);
    }
  }

  void count_memory(const Role& role, std::size_t device) {
    const auto slot = static_cast<std::size_t>(role.slot);
    if (role.takes) {
      if (in_flight_[slot]++ < task_.in_flight[slot]) reserve_[device] -= role.activation;
      held_[device] += role.activation;
      ramp_.peak = std::max(ramp_.peak, held_[device]);
    }
    if (role.returns) {
      if (--in_flight_[slot] < task_.in_flight[slot]) reserve_[device] += role.activation;
      held_[device] -= role.activation;
    }
  }

  void set_lateness() {
    ramp_.lateness.assign(free_.size(), -far_future);
    for (std::size_t index = 0; index < roles_.size(); ++index) {
      const Role& role = roles_[index];
      std::int64_t& late = ramp_.lateness[static_cast<std::size_t>(role.device)];
      late = std::max(late, free_[static_cast<std::size_t>(role.device)] - task_.side.at(index, role.count));
      for (const ClassLink& link : role.waits_for) {
        if (link.op_class < 0) break;
        const Role& other = roles_[static_cast<std::size_t>(link.op_class)];
        for (std::int64_t m = role.count; m < other.count; ++m)
          late = std::max(late, end_[other.first + static_cast<std::size_t>(m)] + link.lag - task_.side.at(index, m));
      }
    }
  }

  using Event = std::pair<std::int64_t, std::size_t>;  // time and device

  const RampTask& task_;
  const ClassGraph& graph_;
  Direction direction_;
  const std::vector<std::int64_t>& slack_;
  const std::vector<std::int64_t>& key_;
  std::vector<Role> roles_;
  std::vector<std::int64_t> end_;  // [class's first + number of its ops already scheduled]
  std::vector<std::int64_t> done_;
  std::vector<std::int64_t> free_;
  std::vector<std::int64_t> held_;
  std::vector<std::int64_t> reserve_;  // [device] memory reserved for micro-batches that may always be in flight
  std::vector<std::int64_t> in_flight_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::size_t started_ = 0;
  Ramp ramp_;
};

std::int64_t max_sum_of(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::int64_t largest = -far_future;
  for (std::size_t index = 0; index < a.size(); ++index) largest = std::max(largest, a[index] + b[index]);
  return largest;
}

}  // namespace

std::int64_t Side::at(std::size_t op_class, std::int64_t microbatch) const {
  const std::int64_t from = offset[static_cast<std::size_t>(graph->classes[op_class].pipeline)];
  if (from_end) return -(timetable->at(op_class, from - microbatch) + graph->classes[op_class].duration);
  return timetable->at(op_class, microbatch - from);
}

std::int64_t Side::count_before(std::size_t op_class, std::int64_t time) const {
  const std::int64_t from = offset[static_cast<std::size_t>(graph->classes[op_class].pipeline)];
  const std::int64_t count =
      from_end ? from + 1 - timetable->first_from(op_class, 1 - time - graph->classes[op_class].duration)
               : timetable->first_from(op_class, time) + from;
  return std::max<std::int64_t>(0, count);
}

RampTask make_ramp_task(const Side& side, std::int64_t cut, const std::vector<std::int64_t>& in_flight,
                        const std::vector<std::int64_t>& headroom) {
  const ClassGraph& graph = *side.graph;
  RampTask task{side, {}, {0}, in_flight, headroom};
  std::vector<std::int64_t> at_cut(graph.stages.size());
  std::vector<std::int64_t> last(graph.stages.size());
  for (std::size_t index = 0; index < graph.classes.size(); ++index) {
    const PatternClass& op_class = graph.classes[index];
    task.count.push_back(side.count_before(index, cut));
    task.first.push_back(task.first.back() + static_cast<std::size_t>(task.count.back()));
    // W comes after its I, so the last backward written counts.
    const auto slot = static_cast<std::size_t>(op_class.slot);
    (op_class.kind == OpKind::F ? at_cut : last)[slot] = task.count.back();
  }
  for (std::size_t slot = 0; slot < at_cut.size(); ++slot) {
    const std::int64_t left = side.from_end ? last[slot] - at_cut[slot] : at_cut[slot] - last[slot];
    task.in_flight[slot] = std::max({std::int64_t{1}, task.in_flight[slot], left});
  }
  return task;
}

std::optional<Ramp> improve_ramp(const RampTask& task, const std::vector<std::int64_t>& slack, int passes,
                                 std::vector<std::int64_t> start, const parallel::Cancellation* cancellation) {
  if (start.empty())
    for (std::size_t index = 0; index < task.count.size(); ++index)
      for (std::int64_t m = 0; m < task.count[index]; ++m) start.push_back(task.side.at(index, m));
  std::optional<Ramp> best;
  std::int64_t least = far_future;
  for (int pass = 0; pass < passes; ++pass) {
    if (cancellation && cancellation->requested()) break;
    std::optional<Ramp> forth = RampScheduler(task, Direction::to_cut, slack, start).run();
    if (!forth) break;
    const std::int64_t late = max_sum_of(forth->lateness, slack);
    start = forth->start;
    if (late < least) {
      least = late;
      best = std::move(forth);
    }
    if (pass + 1 == passes) break;
    std::optional<Ramp> back = RampScheduler(task, Direction::from_cut, slack, start).run();
    if (!back) break;
    start = std::move(back->start);
  }
  return best;
}

std::vector<std::int64_t> settled_lateness(const Side& side, std::vector<std::int64_t> lateness) {
  const ClassGraph& graph = *side.graph;
  const std::size_t count = graph.classes.size();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t step = 0; step < count; ++step) {
      const std::size_t index = side.from_end ? count - 1 - step : step;
      const PatternClass& op_class = graph.classes[index];
      if (op_class.parent.op_class < 0) continue;
      const auto parent = static_cast<std::size_t>(op_class.parent.op_class);
      std::int64_t wait = far_future;
      for (std::size_t j = 0; j < side.timetable->starts[index].size(); ++j)
        wait = std::min(wait, side.timetable->starts[index][j] - side.timetable->starts[parent][j] -
                                  graph.classes[parent].duration - op_class.parent.lag);
      auto from = static_cast<std::size_t>(graph.classes[parent].device);
      auto to = static_cast<std::size_t>(op_class.device);
      if (side.from_end) std::swap(from, to);
      if (lateness[to] >= lateness[from] - wait) continue;
      lateness[to] = lateness[from] - wait;
      changed = true;
    }
  }
  return lateness;
}

}  // namespace dovetail::fuse
