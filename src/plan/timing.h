// When the activities of an iteration run, and how long an iteration takes in the long run.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/quantity.h"
#include "plan/iteration_graph.h"

namespace dovetail::plan {

/// An activity of one iteration in time.
struct ActivityTime {
  base::Ticks begin;
  base::Ticks end;
};

/// Iterations one after another: those that overlap share devices in order of readiness.
struct Timing {
  base::Ticks period;  ///< of an iteration in steady state
  /// [activity] of a steady iteration, from the beginning of its first activity but host transfers
  std::vector<ActivityTime> activities;
};

/// When something happens at `time` of iterations that repeat every `period`, where each period ends with an `overhead`
/// that no activity has: later by as many overheads as there are between; earlier where `time` is below 0. REQUIRES:
/// period > 0.
base::Ticks with_overheads(base::Ticks time, base::Ticks period, base::Ticks overhead);

/// Devices that all activities use alike, in place of the devices themselves: a plan has few such blocks, whatever the
/// cluster.
struct BlockRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};
struct Blocks {
  std::vector<std::array<BlockRange, 2>> of;  ///< [activity]; a range may be empty
  std::vector<int> borders;                   ///< block b has the devices from borders[b] on, before borders[b + 1]
};

/// Of activities that keep these meshes busy: [activity], up to two each. A second mesh without devices is none.
/// `blocks` is room that is used again.
void find_blocks(const std::vector<std::array<cluster::Mesh, 2>>& meshes, Blocks& blocks);

class IterationPlayer;

/// Plays iterations of one graph, again and again with other durations and devices: a search's inner loop. Keeps its
/// room between calls.
class IterationTimer {
 public:
  explicit IterationTimer(const IterationGraph& graph);
  ~IterationTimer();
  IterationTimer(IterationTimer&&) noexcept;
  IterationTimer& operator=(IterationTimer&&) noexcept;

  /// As plan::release does it to the graph; `graph` is that of the timer.
  void release(const IterationGraph& graph, std::size_t leader, base::Ticks early);

  /// As time_iterations. `durations`: [activity], in ns.
  Timing time(const Blocks& blocks, const std::vector<base::Ticks>& durations);
  /// Its period alone.
  base::Ticks period(const Blocks& blocks, const std::vector<base::Ticks>& durations);

 private:
  std::unique_ptr<IterationPlayer> player_;
};

/// List scheduling: of all activities whose predecessors have ended, the one goes next that can start first, as all of
/// its devices are free then; of several the one whose Turn it is. How far iterations run ahead, when an edge lets go,
/// and turns: see plan/turns.h. A load or an unload has the links of its task's devices to host memory for itself, not
/// the devices.
///
/// Iterations are played until n of them repeat the n before, all that is under way included, only t later: the period
/// is t / n, rounded up to whole ns. Warming up counts for nothing then, nor that nothing comes after the last
/// (docs/facts.md#composition); and no device has more to do in an iteration, no circle of edges takes longer, than the
/// period. Where they do not repeat for long, it is the mean of the later half, but no less than what the busiest
/// device has to do. `durations`: [activity], in ns.
Timing time_iterations(const IterationGraph& graph, const Job& job, const Plan& plan,
                       const std::vector<base::Ticks>& durations);

}  // namespace dovetail::plan
