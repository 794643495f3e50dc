// The trade between makespan and peak activation: the schedules that no other found schedule beats, and what is proven
// of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// The front between (least makespan, least peak at it) and (least peak, least makespan at it): schedules of `problem`
/// by rising makespan and falling peak, none of them beaten, or met in both, by another that was found. Both ends are
/// searched first, with a quarter of the iterations each; the rest goes to deadlines, a 32nd each, always in the widest
/// gap (makespan times peak) in which a lower peak is not proven impossible. Each search is solve_auto, and starts from
/// the front's schedule that keeps its deadline.
///
/// `options.iterations` and `time_limit_seconds` are those of the whole front, shared out alike; where both are absent
/// an end takes what solve_auto takes by itself. `objective`, `deadline` and `robustness_percent` are not used.
/// `on_better` is called with each schedule that joins the front. The records of searched schedules are the front's:
/// solver "pareto" with the iterations that repeat it, and what it stopped at: `bound` where no gap is left in which
/// there could be another schedule. Where none that was found fits, the one with the least excess, alone.
std::vector<Solution> solve_pareto(const pipeline::Problem& problem, const SolveOptions& options);

/// What no schedule beats on either side of one of the front's.
struct PointBounds {
  base::Ticks makespan;  ///< of schedules with at most its peak
  base::Memory peak;     ///< of schedules that end by its makespan
};

/// The limits of `solution`, whose problem's bounds are `bounds`: what it proves itself, and what peak_activation_bound
/// and makespan_bound prove, each at the cost that `proof` allows. The makespan's also counts each deadline by which
/// the sweeps prove a larger peak.
PointBounds point_bounds(const Solution& solution, const Bounds& bounds, const BoundOptions& proof);

/// Schedules that end before the next step's makespan have at least this peak.
struct PeakBoundStep {
  base::Ticks makespan;
  base::Memory peak;
};

/// Bounds on the peak for makespans from `from` to `to` as a staircase that falls; the first step is at `from`. By the
/// sweeps of peak_activation_bound (no work): makespans that lie closer together than a `resolution`th of the range are
/// not told apart; between them the lower value stands, which is a bound too.
std::vector<PeakBoundStep> peak_bound_curve(const pipeline::Problem& problem, base::Ticks from, base::Ticks to,
                                            int resolution);

/// Raises the curve by what else is known: schedules that end by `deadline` have at least `peak`. REQUIRES: a curve of
/// at least one step.
void raise_curve(std::vector<PeakBoundStep>& curve, base::Ticks deadline, base::Memory peak);

}  // namespace dovetail::fuse
