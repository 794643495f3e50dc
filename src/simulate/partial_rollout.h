// Partial rollout: generation ends before the last samples finish. These resume in the next iteration with newer
// weights.
//
// - A fixed number of prompts is in progress. At the beginning of each iteration new prompts replace the trained ones.
//   Generation ends once all responses are complete for as many prompts as an iteration trains on. Each instance then
//   ends its current step. All samples of a prompt are trained on in the same iteration, because GRPO compares them.
//   Unfinished samples stay on their instance with their tokens.
// - Keys and values of the old weights are invalid under the new ones. Resumed samples are recomputed first (AReaL,
//   arXiv 2505.24298, section 4.1), before new prompts enter.
// - All samples of a new prompt go to the instance with the fewest sequences. With fewer prompts than instances, each
//   sample is assigned separately. Surplus complete prompts wait for the next iteration, which trains first on the
//   prompts that were complete first.
//
// Ending once enough samples have finished, with more in progress than needed, is APRIL's rule (arXiv 2509.18521). Kimi
// k1.5 also resumes unfinished samples (arXiv 2501.12599, section 2.6.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/quantity.h"
#include "simulate/generation.h"
#include "simulate/sample.h"

namespace dovetail::simulate {

struct PartialRolloutOptions {
  std::size_t trained = 1;      ///< number of prompts that an iteration trains on
  std::size_t in_progress = 1;  ///< prompts started but not trained on, at the start of each iteration; >= trained
  std::size_t warm_up = 4;      ///< iterations simulated before those that are returned
  std::size_t iterations = 8;   ///< number of iterations that are returned
};

/// Duration and token counts of generation in one iteration.
struct PartialRollout {
  base::Ticks end;
  std::int64_t decoded = 0;     ///< response tokens decoded
  std::int64_t recomputed = 0;  ///< tokens recomputed after resumption or preemption
  std::int64_t trained = 0;     ///< tokens of the responses that it trains on
  std::int64_t samples = 0;     ///< number of samples that it trains on
  std::int64_t held = 0;        ///< response tokens decoded but not trained on by the end of the iteration

  /// [age] trained tokens that were decoded `age` iterations before; they add up to `trained`.
  std::vector<std::int64_t> by_age;
};

/// Returns the iterations after the warm-up, in order. `samples_of` is called with 0, 1, 2, ... whenever prompts are
/// used up, and returns the samples of more prompts, group by group. Each call returns at least one group. All samples
/// of a group have the same `group`, which is unique within the call. REQUIRES: the conditions of simulate_generation
/// hold, no prompt and its response together exceed `longest` tokens, trained >= 1, in_progress >= trained, and
/// iterations >= 1.
std::vector<PartialRollout> simulate_partial_rollout(
    const GenerationTask& task, std::int64_t longest,
    const std::function<std::vector<Sample>(std::uint64_t)>& samples_of, const PartialRolloutOptions& options);

}  // namespace dovetail::simulate
