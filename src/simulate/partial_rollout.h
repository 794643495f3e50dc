// Partial rollout: generation ends before the last samples do, and these go on in the next iteration with the newer
// weights.
//
// - A fixed number of prompts is under way: at the beginning of each iteration new ones fill up what was trained.
// Generation ends as soon
//   as so many prompts as an iteration trains on have all of their responses (a group is never cut: GRPO compares
//   within it); each instance ends its step. The rest stays on its instance with the tokens that it has.
// - Keys and values of the old weights are worth nothing under the new ones: what goes on is computed again first
// (AReaL, arXiv
//   2505.24298, section 4.1), before new prompts enter.
// - New prompts go to the instance with the fewest sequences; those that are complete beyond what is trained wait for
// the next iteration,
//   which trains on the first that were complete.
//
// Ending once enough samples have finished, with more under way than are needed, is APRIL's rule (arXiv 2509.18521);
// going on with what is left is that of Kimi k1.5, too (arXiv 2501.12599, section 2.6.2).
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
  std::size_t trained = 1;  ///< prompts that an iteration trains on
  std::size_t under_way =
      1;  ///< prompts that have been begun and not been trained on, at the beginning of each iteration; >= trained
  std::size_t warm_up = 4;  ///< iterations that are played before those of the answer
  std::size_t iterations = 8;
};

/// Generation of one iteration.
struct PartialRollout {
  base::Ticks end;
  std::int64_t decoded = 0;     ///< tokens of responses
  std::int64_t recomputed = 0;  ///< tokens computed again, because they go on or were preempted
  std::int64_t trained = 0;     ///< tokens of the responses that it trains on
  std::int64_t samples = 0;     ///< that it trains on
  std::int64_t held = 0;        ///< tokens of responses that have been decoded and not been trained on, at its end
  /// [age] of the trained tokens those that were decoded so many iterations before; they add up to `trained`.
  std::vector<std::int64_t> by_age;
};

/// The iterations behind the warm-up, in order. `samples_of(n)` are those of the n-th iteration's prompts, group by
/// group; each call gives at least one group, whose samples have one `group` that is no other's in that call. REQUIRES:
/// as simulate_generation; no response is longer than `longest` less its prompt; options as said there.
std::vector<PartialRollout> simulate_partial_rollout(
    const GenerationTask& task, std::int64_t longest,
    const std::function<std::vector<Sample>(std::uint64_t)>& samples_of, const PartialRolloutOptions& options);

}  // namespace dovetail::simulate
