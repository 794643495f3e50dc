// The event engine: activities on devices and links, iteration after iteration.
//
// What happens at one moment happens in this order: transfers arrive and activities end, in the order of (iteration,
// number); what early edges wait for is there; an iteration of which all has ended lets the next one in; then
// activities begin, each as soon as all that it waits for has ended and its devices are free; of those that can begin
// at once the one whose turn it is. What does not get its devices waits for the next moment; nothing is ever
// interrupted. Turns, how far iterations run ahead and when an edge lets go are the rules of plan/turns.h, as for
// plan::time_iterations, which knows no transfers: where there are none, both answer alike.
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

/// What devices do together in every iteration.
struct Activities {
  /// Devices are an activity's alone from its beginning to its end; one without any waits for nothing but its
  /// predecessors.
  struct Item {
    std::array<cluster::Mesh, 2> devices = {};  ///< a second mesh without devices is none
    base::Ticks duration;                       ///< before its transfers begin; of one without transfers, all of it
    std::vector<Transfer> transfers = {};       ///< its end is when the last one has arrived
    bool urgent = false;
  };
  std::vector<Item> items;
  /// Between items; early ones of items that last no less, and have no transfers.
  std::vector<plan::ActivityEdge> edges;
  int links = 0;  ///< how many there are for transfers
};

/// No predecessor, no activity.
inline constexpr std::size_t nothing = static_cast<std::size_t>(-1);

/// An activity of one iteration.
struct Played {
  base::Ticks begin;
  base::Ticks end;
  std::vector<base::Ticks> arrivals = {};  ///< [transfer of the item]
  /// What it began behind, and waited for: iteration * items + item; `nothing` where it began at time 0. Of a
  /// predecessor and an activity that had its devices the predecessor, of several the first. Where the edge is early,
  /// it has not ended.
  std::size_t critical_predecessor = nothing;
};

struct Play {
  /// [iteration * items + item], those that have ended; others have an end before their beginning
  std::vector<Played> played;
  base::Ticks begin;           ///< of the stretch that repeats,
  base::Ticks end;             ///< and of its first repetition
  std::size_t iterations = 1;  ///< that it is of
  std::size_t last = 0;        ///< the last iteration that ends by `end`
  bool steady = false;         ///< false: it was cut off, and the stretch is of the later half

  /// Of an iteration, rounded up.
  base::Ticks period() const;
};

/// Plays until n iterations, with all that is under way at their end, are like the n before: then everything repeats;
/// but at most `max_iterations`. As many iterations follow, and then each activity once more: for whoever lets the
/// stretch begin at any moment of it, and asks what was waited for at its end. REQUIRES: at least one item, at least 2
/// iterations, meshes within the devices from 0 on, edges without a circle in an iteration; the links of transfers are
/// below `links`. `courses` is what is known of transfers, and learns; null: nothing that outlives the play. Where
/// `cancellation` is requested the play is cut off as at the most iterations.
Play play(const Activities& activities, std::size_t max_iterations, Courses* courses = nullptr,
          const parallel::Cancellation* cancellation = nullptr);

}  // namespace dovetail::simulate
