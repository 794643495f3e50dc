// What a generation engine computes besides decoding: prompts when sequences enter, and what it computes again of
// preempted ones.
#pragma once

#include "cost/engine_step.h"
#include "cost/generation.h"

namespace dovetail::cost {

/// Tokens of one instance, and the decoding beside which they are computed.
struct EnginePrefill {
  double prompt = 0;      ///< of a prompt, on average ...
  double attended = 0;    ///< ... and by tokens: E p^2 / E p
  double at_start = 0;    ///< of the prompts of all that enter at once
  double later = 0;       ///< of those that enter as others end, over `full_steps` ...
  double together = 0;    ///< ... so many tokens in one step ...
  bool in_waves = false;  ///< ... or as many as at the start, where all that decode end together
  double again = 0;       ///< computed again, over `full_steps`
  double again_each = 0;  ///< in a step that does so
  Decoding full;          ///< while others wait, or at the start
  double full_steps = 0;
};

/// Seconds that these add to decoding.
struct PrefillSeconds {
  double prompts = 0;
  double again = 0;
};

/// With chunked prefill the prompts at the start fill steps of at most EngineLimits::batched_tokens, less what is
/// decoded by then; what is decoded meanwhile is taken off. Prompts that come later, and what is computed again, come
/// in steps of their own (or in all steps, where there are more of them than steps), which take that much longer than
/// their decoding (mixed_step_seconds); where a wave ends together the next one begins as the first did. Without
/// chunked prefill decoding waits: the same tokens in steps of their own.
PrefillSeconds engine_prefill_seconds(const ModelFacts& facts, const llm::Layout& layout, const EnginePrefill& prefill,
                                      const EngineLimits& limits, const Machine& machine, const Efficiency& efficiency);

}  // namespace dovetail::cost
