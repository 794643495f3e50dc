#include "support/brute_force.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace dovetail::test {
namespace {

using base::Memory;
using base::OpId;
using base::Ticks;
using pipeline::Arc;
using pipeline::OpGraph;
using pipeline::OpKind;
using pipeline::OpLabel;
using pipeline::Precedence;

/// Makes ops of each kind on a stage start in order of their micro-batches.
OpGraph with_microbatches_in_order(const OpGraph& graph) {
  std::map<std::tuple<int, int, int, int>, std::vector<OpId>> rows;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    const OpLabel& label = graph.labels[op];
    if (label.kind == OpKind::S) continue;
    rows[{static_cast<int>(label.kind), label.model.value, label.replica.value, label.stage.value}].push_back(OpId(op));
  }
  std::vector<Precedence> extra;
  for (auto& [key, row] : rows) {
    std::sort(row.begin(), row.end(),
              [&](OpId a, OpId b) { return graph.labels[a.index()].microbatch < graph.labels[b.index()].microbatch; });
    for (std::size_t i = 1; i < row.size(); ++i) extra.push_back({row[i - 1], row[i], Ticks(0)});
  }
  return pipeline::with_predecessors(graph, extra);
}

/// Goal of a search: the minimum of one objective among schedules whose other is within its limit.
struct Goal {
  bool minimise_makespan = true;
  Ticks deadline = Ticks::max();
};

/// Depth-first search over "which op starts next". Ops start in order of (time, place), so that every schedule without
/// needless waiting is visited once. At equal times, ops without duration come first, because others may wait for them,
/// then ops are ordered by device. Deliberate waiting helps neither objective: the peak of a device depends only on the
/// order of its ops.
class Search {
 public:
  Search(const OpGraph& graph, Goal goal, std::int64_t max_steps)
      : graph_(graph),
        goal_(goal),
        steps_left_(max_steps),
        tails_(pipeline::max_tails(graph)),
        waits_(graph.size()),
        end_(graph.size()),
        free_at_(static_cast<std::size_t>(graph.devices)),
        held_(static_cast<std::size_t>(graph.devices)) {
    for (std::size_t op = 0; op < graph.size(); ++op) {
      waits_[op] = graph.predecessors(OpId(op)).size();
      if (waits_[op] == 0) ready_.push_back(OpId(op));
    }
  }

  /// Returns false if it gave up.
  bool run() {
    place_rest(0, {}, Ticks(0), Memory(0));
    return steps_left_ >= 0;
  }
  Ticks makespan() const { return best_makespan_; }
  Memory peak() const { return best_peak_; }

 private:
  Ticks earliest(OpId op) const {
    Ticks start = free_at_[graph_.device[op.index()].index()];
    for (const Arc& arc : graph_.predecessors(op)) start = std::max(start, end_[arc.op.index()] + arc.lag);
    return start;
  }

  bool can_improve(Ticks makespan, Memory peak) const {
    return goal_.minimise_makespan ? makespan < best_makespan_ : makespan <= goal_.deadline && peak < best_peak_;
  }

  using Place = std::tuple<Ticks, bool, std::size_t>;  // start, whether it takes time, device

  void place_rest(std::size_t placed, Place last, Ticks makespan, Memory peak) {
    if (placed == graph_.size()) {
      best_makespan_ = makespan;
      best_peak_ = peak;
      return;
    }
    for (std::size_t choice = 0; choice < ready_.size(); ++choice) {
      const OpId op = ready_[choice];
      const std::size_t i = op.index();
      const std::size_t device = graph_.device[i].index();
      const Ticks start = earliest(op);
      const Place place(start, graph_.duration[i] > Ticks(0), device);
      if (place < last) continue;
      const Memory now_held = held_[device] + graph_.acquire[i];
      const Memory new_peak = std::max(peak, now_held);
      const Ticks end = start + graph_.duration[i];
      if (!can_improve(std::max(makespan, end + tails_[i]), new_peak)) continue;
      if (--steps_left_ < 0) return;
      const Ticks was_free_at = std::exchange(free_at_[device], end);
      const Memory was_held = std::exchange(held_[device], now_held - graph_.release[i]);
      end_[i] = end;
      take(choice);
      place_rest(placed + 1, place, std::max(makespan, end), new_peak);
      put_back(choice, op);
      free_at_[device] = was_free_at;
      held_[device] = was_held;
    }
  }

  void take(std::size_t choice) {
    const OpId op = ready_[choice];
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(choice));
    for (const Arc& arc : graph_.successors(op))
      if (--waits_[arc.op.index()] == 0) ready_.push_back(arc.op);
  }

  void put_back(std::size_t choice, OpId op) {
    for (const Arc& arc : graph_.successors(op))
      if (waits_[arc.op.index()]++ == 0) ready_.pop_back();
    ready_.insert(ready_.begin() + static_cast<std::ptrdiff_t>(choice), op);
  }

  const OpGraph& graph_;
  Goal goal_;
  std::int64_t steps_left_;
  std::vector<Ticks> tails_;
  std::vector<std::size_t> waits_;
  std::vector<Ticks> end_;
  std::vector<Ticks> free_at_;
  std::vector<Memory> held_;
  std::vector<OpId> ready_;
  Ticks best_makespan_ = Ticks::max();
  Memory best_peak_ = Memory::max();
};

OpGraph prepared(const OpGraph& graph, const BruteForceOptions& options) {
  return options.in_order ? with_microbatches_in_order(graph) : graph;
}

}  // namespace

std::optional<Ticks> brute_force_makespan(const OpGraph& graph, const BruteForceOptions& options) {
  const OpGraph searched = prepared(graph, options);
  Search search(searched, {}, options.max_steps);
  if (!search.run()) return std::nullopt;
  return search.makespan();
}

std::optional<Memory> brute_force_peak(const OpGraph& graph, Ticks deadline, const BruteForceOptions& options) {
  const OpGraph searched = prepared(graph, options);
  Search search(searched, {false, deadline}, options.max_steps);
  if (!search.run()) return std::nullopt;
  DOVETAIL_ASSERT(search.peak() < Memory::max());
  return search.peak();
}

std::optional<Optimum> brute_force(const OpGraph& graph, const BruteForceOptions& options) {
  const std::optional<Ticks> makespan = brute_force_makespan(graph, options);
  if (!makespan) return std::nullopt;
  const std::optional<Memory> peak_at_makespan = brute_force_peak(graph, *makespan, options);
  const std::optional<Memory> min_peak = brute_force_peak(graph, Ticks::max(), options);
  if (!peak_at_makespan || !min_peak) return std::nullopt;
  return Optimum{*makespan, *peak_at_makespan, *min_peak};
}

}  // namespace dovetail::test
