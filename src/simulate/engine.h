// Event engine: activities on devices and links, iteration after iteration.
//
// The events of one moment happen in this order:
//
//   1. Transfers arrive and activities end, in order of (iteration, number).
//   2. Results that early edges wait for become available.
//   3. If all activities of the oldest iteration in progress have ended, one more iteration is admitted.
//   4. An activity begins once all edges into it are satisfied and its devices are free. If several can begin,
//      plan::StartPriority decides.
//
// Activities that do not get their devices wait for the next moment. Activities are never interrupted. plan/timing.h
// has the rules for start priorities, for how far iterations run ahead, and for early edges. plan::time_iterations
// follows the same rules but has no transfers. For activities without transfers, both give the same result.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/quantity.h"
#include "cluster/mesh.h"
#include "parallel/cancellation.h"
#include "plan/iteration_graph.h"
#include "simulate/traffic.h"

namespace dovetail::simulate {

/// The activities of an iteration, the same in every iteration.
struct Activities {
  /// An activity occupies its devices exclusively from beginning to end. Without devices it waits only for its
  /// predecessors.
  struct Item {
    std::array<cluster::Mesh, 2> devices = {};  ///< the second may have no devices
    base::Ticks duration;                       ///< time before its transfers begin; the whole duration if it has none
    std::vector<Transfer> transfers = {};       ///< the activity ends when the last one has arrived
    bool urgent = false;                        ///< goes first if several can begin (plan::is_urgent)
  };
  std::vector<Item> items;
  /// Edges between items. The item at which an early edge starts has no transfers, and takes at least as long as the
  /// edge's lead (ActivityEdge::early).
  std::vector<plan::ActivityEdge> edges;
  int links = 0;  ///< number of links for transfers
};

/// Activity number that means no activity.
inline constexpr std::size_t no_activity = static_cast<std::size_t>(-1);

/// Times of an activity in one iteration, and the activity that it waited for.
struct ActivityRun {
  base::Ticks begin;
  base::Ticks end;
  std::vector<base::Ticks> arrivals = {};  ///< [transfer of the item] time of its arrival

  /// The activity whose end or early result let this one begin: iteration * items + item. `no_activity` if it waited
  /// for none. Of several candidates, a predecessor takes precedence, then the lowest-numbered previous holder of its
  /// devices, then the activity that ended last and so admitted the iteration. If the predecessor's edge is early, the
  /// predecessor has not ended.
  std::size_t critical_predecessor = no_activity;
};

struct SimulatedIterations {
  /// [iteration * items + item] ended activities; others have an end before their beginning
  std::vector<ActivityRun> runs;
  base::Ticks begin;           ///< beginning of the stretch that repeats
  base::Ticks end;             ///< end of the stretch, where its first repetition begins
  std::size_t iterations = 1;  ///< number of iterations in the stretch
  std::size_t last = 0;        ///< last iteration that ends by `end`
  bool steady = false;         ///< false: stopped early, and the stretch is the later half of the iterations

  /// Returns the mean time of an iteration in the stretch, rounded up.
  base::Ticks period() const;
};

/// Simulates iterations until the activities in progress at the end of one are in the same state as n iterations
/// earlier, for some n up to twice the number of iterations in progress, or until `max_iterations`. The last n
/// iterations are then the repeating stretch. Then simulates n more iterations, plus as many as can be in progress at
/// the same time, so that the caller can cut out the stretch from any starting time within it.
///
/// `cache` caches transfers across calls; null: no cache. A requested `cancellation` stops the simulation as
/// `max_iterations` does. REQUIRES: there is at least one item, max_iterations >= 2, device numbers are at least 0,
/// edges within an iteration form no cycle, and transfers use links from 0 to `links` - 1.
SimulatedIterations simulate_iterations(const Activities& activities, std::size_t max_iterations,
                                        TransferCache* cache = nullptr,
                                        const parallel::Cancellation* cancellation = nullptr);

}  // namespace dovetail::simulate
