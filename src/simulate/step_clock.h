// Seconds of the steps of a generation engine: the cost model of a step, evaluated for many steps in one call.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.h"
#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "llm/counts.h"
#include "llm/layout.h"

namespace dovetail::simulate {

/// Total seconds of one or more steps.
struct ActivitySeconds {
  double all = 0;
  double launch = 0;  ///< part in which the device waits for launches and other host work
};

/// Seconds of a step that decodes and prefills.
struct MixedSeconds {
  ActivitySeconds decode;  ///< decoding, without the prefill
  double prefill = 0;      ///< extra time for the prefill
};

/// Seconds of an instance's steps. For a given batch, cost::decode_step_seconds is piecewise linear in the context. The
/// segments are found once, by bisection to less than a token, and the seconds of many steps are then a sum over
/// segments. The result equals the sum of single steps except for rounding (relative error 1e-9) and one step per kink,
/// which is off by at most one token's worth of slope. Not thread-safe.
class StepClock {
 public:
  /// `longest`: tokens of the longest sequence. `facts` must outlive the clock.
  StepClock(const cost::ModelFacts& facts, const llm::Layout& layout, const cost::Machine& machine,
            const cost::Efficiency& efficiency, std::int64_t longest);

  /// Returns the seconds of `steps` decode steps of `sequences` sequences. In the first step, sequences have `context`
  /// tokens on average before the one that they decode. Each later step adds one. REQUIRES: sequences >= 1.
  ActivitySeconds decode(std::int64_t sequences, double context, std::int64_t steps);

  /// Returns the seconds of one step that decodes a token for each of `sequences` sequences (0 or more) and prefills
  /// `prefilled`: cost::mixed_step_seconds.
  MixedSeconds mixed(std::int64_t sequences, double context, const llm::Tokens& prefilled);

 private:
  /// A linear piece of the step time as a function of context. Ends where the next one begins.
  struct Segment {
    double from = 0;
    double seconds = 0;  // seconds of a step at context `from`
    double slope = 0;    // additional seconds per token of context
  };
  using Segments = std::vector<Segment>;
  struct Batch {
    Segments all;
    Segments working;  // the same without host overhead
  };

  double step(double sequences, double context, const cost::Efficiency& efficiency) const;
  Segments segments_of(double sequences, const cost::Efficiency& efficiency) const;
  const Batch& batch_of(std::int64_t sequences);

  const cost::ModelFacts& facts_;
  llm::Layout layout_;
  cost::Machine machine_;
  cost::Efficiency efficiency_;
  cost::Efficiency no_launch_;  // without host overhead
  double longest_;
  std::vector<Batch> batches_;  // [sequences] segments for this batch size; empty until requested
};

}  // namespace dovetail::simulate
