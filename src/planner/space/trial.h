// What a selection costs, as a search asks it hundreds of thousands of times a second.
//
// Tables in place of formulas (search_space.h), one iteration graph for all plans whose roles share weights alike, and
// blocks of devices in place of devices. Memory is as task_memory has it: by its rules (weight_copies.h), summed from
// tables. The period of exact_score() is that of timed_iteration(), to the ns, of the plan with the same fusions and,
// where it fuses two trainings, given FusionTables::Training::at_least: how long their real schedule is,
// predict::estimate says. score() takes two things simpler, as what is exact of them takes a thousand times as long: a
// reallocation between meshes takes what a device of the destination receives over its slowest link, and nothing is
// prefetched.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plan/timing.h"
#include "planner/space/fused_activities.h"
#include "planner/space/reallocation_table.h"

namespace dovetail::planner {

/// What a search compares.
struct Score {
  base::Ticks period;  ///< ns
  std::int64_t excess =
      0;  ///< bytes beyond what the fullest device has, or the fullest node in host memory; 0: it fits
  FusionSelection fused = {};  ///< what is fused in it

  /// Seconds, and as many times over what is missing of a device's memory, so that a search finds its way back to what
  /// fits.
  double cost(std::int64_t usable) const;

  friend bool operator==(const Score&, const Score&) = default;
};

/// What plans may use of a device, of devices first ... end - 1.
struct GroupLimit {
  int first = 0;
  int end = 0;
  std::int64_t usable = 0;  ///< plan_memory
};

/// Scores selections of one space. Keeps its room between calls; one for each thread.
class Trial {
 public:
  explicit Trial(const SearchSpace& space);
  /// With tables that other threads look things up in as well, and that outlive it.
  Trial(const SearchSpace& space, FusionTables& tables);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// With as much of `fusion` as the selection can have and gain by (FusedActivities). REQUIRES: every choice is one of
  /// the space.
  Score score(const Selection& selection, FusionSelection fusion = {}) {
    return *score_unless(selection, fusion, [](const Score&) { return false; });
  }

  /// The same, with the period that timed_iteration() says. For what a search answers with.
  Score exact_score(const Selection& selection, FusionSelection fusion = {});

  /// As score(); nothing where `is_too_much` is true of a Score that is no more: it fuses no less, the period is the
  /// work of the busiest device (with a generation that may take less), the excess that of the selection or none. What
  /// a search refuses is mostly so bad that no iteration has to be played.
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
  /// What weights that some tasks share, with what belongs to them, come to, in bytes.
  struct CopyBytes {
    std::int64_t idle = 0;        ///< of a device while none of the tasks runs
    std::int64_t inference = 0;   ///< of a device while one infers, beside its working_memory
    std::int64_t generation = 0;  ///< likewise while one generates
    std::int64_t host_idle = 0;   ///< of host memory while none of the tasks runs, for each device
    std::int64_t host_used = 0;   ///< while one runs that does not train
    std::int64_t host_trained = 0;
    std::int64_t returning = 0;  ///< weights that are back on the device when newly trained ones are sent from there
  };
  /// The four parts of score_unless, in this order.
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
  void weigh_copies(const Selection& selection, const Sharing& sharing);
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

  /// The link between all devices of a mesh that is the slowest.
  struct KnownLink {
    cluster::Mesh hull;
    double bandwidth = 0;  ///< 0: nothing is known yet
  };

  const SearchSpace& space_;
  std::vector<GroupLimit> limits_;            // [group of nodes]
  std::unique_ptr<FusionTables> own_tables_;  // where no others are given
  FusedActivities fused_;
  std::optional<FusedActivities::Generation> generation_;  // of the selection at hand, where it fuses that
  bool exact_ = true;                                      // whether that is what it takes, and not less
  const FusedActivities::Training* training_ = nullptr;    // likewise
  std::vector<std::unique_ptr<Sharing>> sharings_;
  Sharing* last_ = nullptr;
  std::vector<int> alike_;  // as Sharing::alike, of the selection at hand
  plan::Blocks blocks_;
  std::vector<std::array<cluster::Mesh, 2>> meshes_;  // [activity]
  std::vector<base::Ticks> durations_;                // [activity]
  std::vector<CopyBytes> copies_;                     // [Sharing::copies]
  std::vector<KnownLink> links_;                      // [hash of the hull]: the last one of each
  ReallocationTable reallocations_;
  bool exact_reallocations_ = false;  // whether reallocations_ are asked
};

}  // namespace dovetail::planner
