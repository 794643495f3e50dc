// Plans that may be the best: evaluated exactly, given their best fusion with its real schedule, and played event by
// event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/rank/fusion_choice.h"
#include "planner/search/placements.h"

namespace dovetail::planner {

/// Selection that may be the best plan of their placement.
struct Finalist {
  Placement placement = Placement::searched;
  Selection selection;
};

/// A plan with its prediction.
struct RankedPlan {
  Placement placement = Placement::searched;  ///< the family that it was found in
  plan::Plan plan;
  predict::Estimate estimate;
  std::optional<double> simulated =
      std::nullopt;  ///< seconds of an iteration played by predict::Simulator; nothing where it was not
};

/// The plans that fit, without fusion, in the order of the candidates. Where it is stopped, of each placement the first
/// that fits at least.
std::vector<RankedPlan> evaluate(const SearchSpace& space, const std::vector<Finalist>& candidates);

/// Gives each plan its best fusion: those that were searched, and all where the job demands one. What cannot have what
/// is demanded goes. Real schedules of trainings are made for those that take the least by the bound of theirs, for
/// `schedules` at most; the others train one after the other, unless the job demands otherwise. Where it is stopped,
/// plans stay as they are, but for what the job demands. `threads` never change the answer.
void fuse(const predict::Scenario& scenario, FusionChooser& chooser, std::vector<RankedPlan>& plans,
          std::size_t schedules, int threads);

/// The fastest first, by the closed form.
void sort(std::vector<RankedPlan>& plans);

/// Of the searched plans those that differ in what they take, and no more than `shown` in all, but for the best one and
/// one of each named placement. REQUIRES: sorted.
void keep_different(std::vector<RankedPlan>& plans, std::size_t shown);

/// Leaves out searched plans that another one, or a named placement, is the same as.
void drop_repeated(std::vector<RankedPlan>& plans);

/// Samples that simulate_first plays at most, of all plans together.
inline constexpr std::int64_t max_played_samples = std::int64_t{1} << 20;

/// How many of `most` plans may be played: as many as max_played_samples allow, and none where there would be nothing
/// to compare.
std::size_t playable(const plan::Job& job, std::size_t most);

/// Plays up to playable() of `most` of the first plans, those within `error` (a share) of the first, with lengths drawn
/// from `seed`, and puts these in the order of their simulated seconds. A plan that cannot be played keeps its place
/// behind them. Where it is stopped, none counts as played: those that were would stand before better ones. `threads`
/// never change the answer. REQUIRES: sorted.
void simulate_first(const predict::Scenario& scenario, std::vector<RankedPlan>& plans, std::size_t most, double error,
                    std::uint64_t seed, int threads);

}  // namespace dovetail::planner
