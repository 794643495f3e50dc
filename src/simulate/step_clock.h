// How long the steps of one generation engine take: what cost says of a step, for many steps at once.
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

/// Seconds of steps, and what of them the device waits for launches and other work of the host.
struct ActivitySeconds {
  double all = 0;
  double launch = 0;
};

/// Of a step that decodes and prefills: what decoding takes alone, and what prefilling adds to it.
struct MixedSeconds {
  ActivitySeconds decode;
  double prefill = 0;
};

/// The seconds of an instance's steps. For a given batch cost::decode_step_seconds is linear in the context in pieces:
/// these are found once, by bisection to less than a token, and the seconds of many steps are then a sum over pieces.
/// It is the sum of the single steps but for rounding (1e-9 of it) and one step a kink, which is taken for at most a
/// token's worth of slope off. Not safe for several threads at once.
class StepClock {
 public:
  /// `longest`: tokens of the longest sequence. `facts` must outlive it.
  StepClock(const cost::ModelFacts& facts, const llm::Layout& layout, const cost::Machine& machine,
            const cost::Efficiency& efficiency, std::int64_t longest);

  /// `steps` decode steps of `sequences`, the first with `context` tokens before each on average, each next with one
  /// more. REQUIRES: sequences >= 1.
  ActivitySeconds decode(std::int64_t sequences, double context, std::int64_t steps);

  /// One step that decodes a token of `sequences` (0: none) and computes keys and values of `prefilled`:
  /// cost::mixed_step_seconds.
  MixedSeconds mixed(std::int64_t sequences, double context, const llm::Tokens& prefilled);

 private:
  /// Seconds of a step from this context on, up to that of the next piece.
  struct Piece {
    double from = 0;
    double seconds = 0;  // at `from`
    double slope = 0;    // seconds a token
  };
  using Pieces = std::vector<Piece>;
  struct Batch {
    Pieces all;
    Pieces working;  // without what the host takes
  };

  double step(double sequences, double context, const cost::Efficiency& efficiency) const;
  Pieces pieces_of(double sequences, const cost::Efficiency& efficiency) const;
  const Batch& batch_of(std::int64_t sequences);

  const cost::ModelFacts& facts_;
  llm::Layout layout_;
  cost::Machine machine_;
  cost::Efficiency efficiency_;
  cost::Efficiency no_launch_;  // the same, with a host that takes no time
  double longest_;
  std::vector<Batch> batches_;  // [sequences]; empty where nobody has asked yet
};

}  // namespace dovetail::simulate
