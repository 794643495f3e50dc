// Scores selections, hundreds of thousands of times per second.
//
// Tables replace formulas (search_space.h), one iteration graph serves all plans whose roles share weights in the same
// way, and blocks of devices replace devices. Memory follows the rules of task_memory (weight_copies.h), summed from
// tables. The period of exact_score() equals the period of timed_iteration() to the ns, for the plan with the same
// fusions. For two fused trainings, both periods include FusionTables::Training::at_least. Only predict::estimate
// computes the length of a real schedule for the trainings.
//
// score() makes two simplifications, because exact values take a thousand times as long to compute. A reallocation,
// except into an engine's separate weights, takes the time that a destination device needs to receive all its weights
// over the slowest link. Nothing is prefetched.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "plan/iteration_graph.h"
#include "plan/timing.h"
#include "planner/space/fused_activities.h"
#include "planner/space/search_space.h"

namespace dovetail::planner {

/// Durations of weight reallocations between selected choices, from activity_seconds(). Computed on first use for each
/// pair of meshes and weight forms. Each thread needs its own object.
class ReallocationTable {
 public:
  /// `space` must outlive the table.
  explicit ReallocationTable(const SearchSpace& space) : space_(space) {}

  /// Returns the duration of a reallocation. REQUIRES: the activity is a reallocation of an iteration with this
  /// selection, and not into an engine's separate weights.
  base::Ticks ticks(const Selection& selection, const plan::Activity& activity);

 private:
  using Key = std::array<std::int32_t, 5>;  // role; mesh and weight form of the source and of the destination

  const SearchSpace& space_;
  std::map<Key, base::Ticks> known_;
};

/// Values by which a search compares selections.
struct Score {
  base::Ticks period;
  std::int64_t excess = 0;     ///< max bytes missing on any device, or in the host memory of any node; 0: it fits
  FusionSelection fused = {};  ///< fusions included in the period

  /// Returns the period in seconds. If memory is missing, multiplies it by a factor that starts at 1.5 and grows with
  /// the missing share of `usable`, so that a search finds its way back to plans that fit.
  double cost(std::int64_t usable) const;

  friend bool operator==(const Score&, const Score&) = default;
};

/// Memory that plans may use on devices first ... end - 1.
struct NodeGroupLimit {
  int first = 0;
  int end = 0;
  std::int64_t usable = 0;  ///< plan_memory
};

/// Scores selections of one space. Keeps its buffers between calls. Each thread needs its own object.
class Trial {
 public:
  explicit Trial(const SearchSpace& space);
  /// Uses tables shared with other threads. `tables` must outlive it.
  Trial(const SearchSpace& space, FusionTables& tables);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// Returns the score with those fusions in `fusion` that are possible. Generation is fused only if that gains time or
  /// the job fixes the threshold (FusedActivities). REQUIRES: every choice belongs to the space.
  Score score(const Selection& selection, FusionSelection fusion = {}) {
    return *score_unless(selection, fusion, [](const Score&) { return false; });
  }

  /// As score(), with the exact period of timed_iteration(). For the results of a search.
  Score exact_score(const Selection& selection, FusionSelection fusion = {});

  /// As score(), but returns nullopt as soon as `is_too_much` is true for a lower bound on the score. The bound
  /// includes at least the fusions of the score. Its period is the work of the busiest device, in which the duration of
  /// fused generation may be underestimated. Its excess is exact or 0. This rejects most selections without timing an
  /// iteration.
  template <class IsTooMuch>
  std::optional<Score> score_unless(const Selection& selection, FusionSelection fusion, const IsTooMuch& is_too_much) {
    Score score = min_score(selection, fusion);
    if (is_too_much(score)) return std::nullopt;
    if (!exact_) {
      score = fused_score(selection);
      if (is_too_much(score)) return std::nullopt;
    }
    score.excess = excess(selection);
    if (score.excess > 0 && is_too_much(score)) return std::nullopt;
    score.period = period();
    return score;
  }

 private:
  struct Sharing;
  /// Bytes that a copy of weights, with its gradients and optimizer, needs in each state of use.
  struct CopyBytes {
    std::int64_t idle = 0;          ///< on each device while no task of the copy runs
    std::int64_t inference = 0;     ///< on each device while one infers, in addition to its working_memory
    std::int64_t generation = 0;    ///< on each device while one generates, in addition to its working_memory
    std::int64_t host_idle = 0;     ///< in host memory, per device, while no task of the copy runs
    std::int64_t host_used = 0;     ///< in host memory, per device, while one infers or generates
    std::int64_t host_trained = 0;  ///< in host memory, per device, while one trains
    /// Weights that return to each device before it sends newly trained weights.
    std::int64_t returning = 0;
  };
  /// The steps of score_unless, in order.
  Score min_score(const Selection& selection, FusionSelection fusion);
  Score fused_score(const Selection& selection);
  std::int64_t excess(const Selection& selection);
  base::Ticks period();
  Score work_score(const Selection& selection);
  Sharing& sharing_of(const Selection& selection);
  void prepare(const Selection& selection, const Sharing& sharing);
  base::Ticks busiest() const;
  double slowest_bandwidth(const cluster::Mesh& from, const cluster::Mesh& to);
  base::Ticks task_ticks(const Selection& selection, std::size_t task) const;
  std::optional<std::size_t> partner_of(std::size_t task) const;
  void count_copies(const Selection& selection, const Sharing& sharing);
  base::Ticks reallocation_ticks(const Selection& selection, const plan::Activity& activity);
  std::int64_t excess_of_block(const Selection& selection, const Sharing& sharing, std::size_t block) const;
  struct BlockBytes;
  std::int64_t host_excess(const Selection& selection, const Sharing& sharing, std::size_t block,
                           cluster::NodeId node) const;
  std::int64_t needed_by(const Selection& selection, const Sharing& sharing, std::size_t task, std::size_t block,
                         const BlockBytes& there) const;
  std::int64_t arriving_for(const Selection& selection, const Sharing& sharing, std::size_t task,
                            std::size_t block) const;
  bool is_on(const Selection& selection, std::size_t task, std::size_t block) const;

  /// Bandwidth of the slowest link between devices of `hull`.
  struct KnownLink {
    cluster::Mesh hull;
    double bandwidth = 0;  ///< 0: unknown
  };

  const SearchSpace& space_;
  std::vector<NodeGroupLimit> limits_;        // [group of nodes]
  std::unique_ptr<FusionTables> own_tables_;  // used if no shared tables are given
  FusedActivities fused_;
  std::optional<FusedActivities::Generation> generation_;  // of the current selection, if it fuses generation
  bool exact_ = true;                                      // whether generation_ is exact rather than a lower bound
  const FusedActivities::Training* training_ = nullptr;    // of the current selection, if it fuses training
  std::vector<std::unique_ptr<Sharing>> sharings_;
  Sharing* last_ = nullptr;
  std::vector<int> alike_;  // Sharing::alike of the current selection
  plan::Blocks blocks_;
  std::vector<std::array<cluster::Mesh, 2>> meshes_;  // [activity]
  std::vector<base::Ticks> durations_;                // [activity]
  std::vector<CopyBytes> copies_;                     // [Sharing::copies]
  std::vector<KnownLink> links_;                      // [hash of the hull] the last link with this hash
  ReallocationTable reallocations_;
  bool exact_reallocations_ = false;  // whether to use reallocations_
};

}  // namespace dovetail::planner
