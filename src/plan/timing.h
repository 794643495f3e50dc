// Start and end times of an iteration's activities, and the time of an iteration in steady state.
//
// The analytical model here and the event simulation (simulate/engine.h) share the rules by which activities of
// successive iterations wait for each other and take turns. A node is an activity in one iteration. Its index is
// iteration * (number of activities) + activity.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/quantity.h"
#include "plan/iteration_graph.h"

namespace dovetail::plan {

/// Edges of a graph by activity.
struct EdgesByActivity {
  std::vector<std::vector<ActivityEdge>> into;    ///< [activity] edges that lead to it
  std::vector<std::vector<ActivityEdge>> out_of;  ///< [activity] edges that start at it
  /// Number of iterations under way at a time: one more than the maximum ActivityEdge::iterations, and at least two.
  /// This limits how far independent tasks run ahead.
  std::size_t in_progress = 2;
};
EdgesByActivity edges_by_activity(const std::vector<ActivityEdge>& edges, std::size_t activities);

/// Time at which a node that ends at `end` releases the target of the edge.
inline base::Ticks release_time(const ActivityEdge& edge, base::Ticks end) { return end - edge.early; }

/// Whether an activity takes precedence over others that can start at the same time. Only a reallocation between two
/// meshes does, because generation on other devices waits for it.
inline bool is_urgent(bool reallocation, bool two_meshes) { return reallocation && two_meshes; }

/// Tie-breaker among nodes that can start at the same time: urgent ones first, then the earlier iteration, then the
/// lower activity index.
struct StartPriority {
  bool is_deferrable = true;  ///< false: urgent (is_urgent)
  std::size_t node = 0;

  friend auto operator<=>(const StartPriority&, const StartPriority&) = default;
};

/// Start and end of an activity in one iteration.
struct ActivityTime {
  base::Ticks begin;
  base::Ticks end;
};

/// Times of repeated iterations, which may overlap: activities of different iterations take turns on shared devices.
struct Timing {
  base::Ticks period;  ///< time of an iteration in steady state
  /// [activity] times in a steady iteration, relative to the start of its first activity other than host transfers
  std::vector<ActivityTime> activities;
};

/// Returns `time` with overheads: each iteration ends with an `overhead` outside its activities, which `time` does not
/// count. Adds one `overhead` for each full period before `time`. Their number is time / period, rounded down, so
/// negative times become earlier. REQUIRES: period > 0.
base::Ticks with_overheads(base::Ticks time, base::Ticks period, base::Ticks overhead);

/// The blocks `begin` ... `end` - 1.
struct BlockRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};
/// Blocks of consecutive devices. Each activity uses all devices of a block or none. A plan has few blocks, even on a
/// large cluster.
struct Blocks {
  std::vector<std::array<BlockRange, 2>> of;  ///< [activity] blocks of its two meshes; empty ranges for missing meshes
  std::vector<int> boundaries;                ///< block b has the devices boundaries[b] ... boundaries[b + 1] - 1
};

/// Divides the devices into blocks. `meshes`: [activity] up to two meshes that the activity keeps busy; a mesh without
/// devices is ignored. Reuses the memory of `blocks`.
void find_blocks(const std::vector<std::array<cluster::Mesh, 2>>& meshes, Blocks& blocks);

class IterationClock;

/// Computes the timing of one graph repeatedly, with different durations and devices, as the inner loop of a search
/// does. Reuses its memory between calls.
class IterationTimer {
 public:
  explicit IterationTimer(const IterationGraph& graph);
  ~IterationTimer();
  IterationTimer(IterationTimer&&) noexcept;
  IterationTimer& operator=(IterationTimer&&) noexcept;

  /// Applies plan::release to this object's copy of the graph. REQUIRES: `graph` is the graph that this object was
  /// constructed with.
  void release(const IterationGraph& graph, std::size_t leader, base::Ticks early);

  /// Returns the timing that time_iterations computes, for these blocks. `durations`: [activity], in ns.
  Timing time(const Blocks& blocks, const std::vector<base::Ticks>& durations);
  /// Returns only the period of time().
  base::Ticks period(const Blocks& blocks, const std::vector<base::Ticks>& durations);

 private:
  std::unique_ptr<IterationClock> clock_;
};

/// Computes the timing by list scheduling. Of all activities whose predecessors have ended, the one that can start
/// first runs next. It can start once all its devices are free. Ties are broken by StartPriority. A load or an unload
/// occupies the host links of its task's devices, not the devices.
///
/// Iterations run until the latest ones, including those under way, repeat those n iterations earlier, shifted by t.
/// The period is then t / n, rounded up to integer ns: the time of an iteration in the steady state
/// (docs/facts.md#composition), which warm-up and the end do not affect. The period is at least the work of each device
/// in an iteration, and at least the time of each cycle of edges. If iterations do not repeat within the maximum
/// warm-up, the period is the mean time of the last iterations (a quarter to half of all), but at least the busiest
/// device's work. `durations`: [activity], in ns.
Timing time_iterations(const IterationGraph& graph, const Job& job, const Plan& plan,
                       const std::vector<base::Ticks>& durations);

}  // namespace dovetail::plan
