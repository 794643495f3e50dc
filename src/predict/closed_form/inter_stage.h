// Inter-stage fusion in closed form: what it takes to score finished samples while the longest ones are still generated
// (RLHFuse, NSDI 2025, section 4).
//
// The places of all n instances empty as cost::generation_seconds says. As soon as no sample waits for a place and no
// more than the threshold R of all B samples is left, m instances keep the tail, and the samples of the others move to
// them:
//
//   m = max( ceil(R B / flat batch), ceil(R B M / C), ceil(R B / most sequences of the engine) )
//
// with M the keys and values of the longest sample and C what an instance has room for. They move as keys and values
// over the links, each device of a keeper receiving its part, or are prefilled again, whatever is faster. The n - m
// freed instances drop the actor and score what has finished (tail_inference.h). With m = n nothing moves, and the
// tasks follow one another. The k samples that a keeper still has on average are taken as drawn by chance (Poisson): it
// has none with probability p = e^-k, and of m keepers, one of which at least has some, m p (1 - p^(m-1)) / (1 - p^m)
// have none on average.
//
// What the slowest instance takes beyond the average one counts in full before the threshold, so that generation does
// not end sooner fused than alone. Not in it: that instances differ in how many long samples they have when they move
// (the mean is taken).
#pragma once

#include <optional>
#include <vector>

#include "plan/fusion.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/closed_form/tail_inference.h"

namespace dovetail::predict {

/// How generation and the inference beside it go; all seconds.
struct InterStage {
  plan::GenerationStage stage;
  double threshold = 0;   ///< fraction of the iteration's samples
  int instances = 1;      ///< that generate
  int keepers = 1;        ///< of these that keep the tail; all of them: nothing moves
  double moved = 0;       ///< samples, on average
  bool prefills = false;  ///< moved samples are prefilled again, else their keys and values are sent
  double until = 0;       ///< from the beginning until the threshold is reached
  double migration = 0;
  double set_up = 0;  ///< of the freed instances, beside the tail
  double tail = 0;    ///< from the migration to the last sample, on the keepers
  double rest = 0;    ///< inference behind the tail, with what the keepers' set-up delays
  double apart = 0;   ///< generation, then one inference task after the other, as without fusion

  double seconds() const { return until + migration + tail + rest; }
  /// When inference begins.
  double inference_begins() const { return keepers < instances ? until + migration + set_up : until; }
  double generation_ends() const { return until + migration + tail; }
  /// So long before its end generation has ended, of whole ns each.
  base::Ticks early() const { return base::ticks_of_seconds(seconds()) - base::ticks_of_seconds(generation_ends()); }
};

/// Of the stage as one activity.
ActivitySeconds activity_seconds(const InterStage& fused);

/// Generation at a threshold, whatever is scored beside it.
struct GenerationTail {
  InterStage generation;  ///< without what its stage infers, set_up and rest; apart is generation alone
  TailDevices devices;
  std::vector<TailSlice> slices;  ///< none where nothing moves
};
/// For each of the thresholds. REQUIRES: the task generates, and `planned` has no fault.
std::vector<GenerationTail> generation_tails(const Scenario& scenario, std::size_t generate,
                                             const plan::TaskPlan& planned, const std::vector<double>& thresholds);

/// `tasks`: [task of the workflow]. REQUIRES: no find_threshold_fault.
InterStage inter_stage(const Scenario& scenario, const std::vector<plan::TaskPlan>& tasks, double threshold);

/// The threshold among simulate::usual_thresholds() with the least seconds(); nothing where none is faster than without
/// fusion, or there is no generation_stage().
std::optional<double> best_threshold(const Scenario& scenario, const std::vector<plan::TaskPlan>& tasks);

}  // namespace dovetail::predict
