// What a generation engine computes besides decoding: prompts when sequences enter, and what it computes again of preempted ones.
#pragma once

#include "cost/engine_step.h"
#include "cost/generation.h"

namespace dovetail::cost {

/// Tokens of one instance, and the decoding beside which they are computed.
struct EnginePrefill {
  double prompt = 0;      ///< of a prompt, on average ...
  double attended = 0;    ///< ... and by tokens: E p^2 / E p
  double at_start = 0;    ///< of the prompts of all that enter at once
  double later = 0;       ///< of those that enter as others end, over `full_steps`
  double again = 0;       ///< computed again, over `full_steps`
  double again_each = 0;  ///< of a sequence that is
  Decoding full;          ///< while others wait, or at the start
  double full_steps = 0;
};

/// Seconds that these add to decoding.
struct PrefillSeconds {
  double prompts = 0;
  double again = 0;
};

/// With chunked prefill the prompts at the start fill steps of at most EngineLimits::batched_tokens, less what is decoded by then; what is
/// decoded meanwhile is taken off. Prompts that come later, and what is computed again, come one by one, each in a step of its own (or in
/// all steps, where there are more of them than steps), which takes that much longer than its decoding (mixed_step_seconds). Without
/// chunked prefill decoding waits: the same tokens in steps of their own.
PrefillSeconds engine_prefill_seconds(const ModelFacts& facts, const llm::Layout& layout, const EnginePrefill& prefill,
                                      const EngineLimits& limits, const Machine& machine, const Efficiency& efficiency);

/// Tokens that a sequence holds of `responses` that start together, at the worst moment, on average of all: what each that has not ended
/// has generated, and its part of a prompt that is held as long as any of the `group` that share it.
double most_held(double prompt, double group, const workflow::LengthDistribution& responses);

/// Tokens that an instance computes again while sequences wait and its room for keys and values is what holds them back: `room` tokens for
/// each that enters at first, with `prompt` of its own, and `sequences` that decode together on average for `full_steps`.
///
/// Engines admit whoever fits and preempt the youngest when those that run need more (vLLM). So room that an ending sequence gives back is
/// filled at once, and each token that is decoded from then on takes a place from a sequence that has to come back: as many tokens are
/// computed again as are decoded, from when the room is full for the first time. After s steps those that started together hold s S(s) each
/// (S: the survival of their lengths), and those that took the places of others are at most s / 2 old on average. Against the simulation
/// of `bench/simulate_generation.cpp` it is high by about a tenth: parts of the room are too small for the next to enter.
double recomputed_tokens(double room, double prompt, const workflow::LengthDistribution& responses, double sequences, double full_steps);

}  // namespace dovetail::cost
