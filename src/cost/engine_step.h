// Cost of prefill in a generation engine: in steps that also decode, or in separate steps.
#pragma once

#include "cost/efficiency.h"
#include "cost/generation.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "llm/counts.h"
#include "llm/layout.h"

namespace dovetail::cost {

/// Sequences that decode one token each.
struct Decoding {
  double sequences = 0;
  double context = 0;  ///< mean tokens before the next token of each sequence
};

/// Returns the constants with the host overhead of passes set to 0: kernel launches, the cost per micro-batch, and the
/// engine's cost per step, layer and sequence.
Efficiency without_launch(Efficiency efficiency);

/// Returns the seconds of one engine step that decodes and prefills `prefilled` in the same pass, by a roofline
/// (docs/facts.md#decode-step). With 0 sequences in `decoding`, the step only prefills. The result is the longer of two
/// times: the decode step alone, or the decode step with infinite memory bandwidth plus the forward pass of
/// prefill_seconds. The decode step already includes launch overhead, so the forward pass counts none.
double mixed_step_seconds(const ModelFacts& facts, const llm::Layout& layout, const Decoding& decoding,
                          const llm::Tokens& prefilled, const Machine& machine, const Efficiency& efficiency);

/// Tokens that one instance prefills, and the decoding that runs meanwhile.
struct EnginePrefill {
  double prompt = 0;      ///< mean tokens of a prompt
  double attended = 0;    ///< mean prompt length p, weighted by tokens: E p^2 / E p
  double at_start = 0;    ///< prompt tokens of the sequences that enter at the start
  double later = 0;       ///< prompt tokens of sequences that enter when others end, during `full_steps`
  double together = 0;    ///< prompt tokens of later sequences that are prefilled in one step
  bool in_waves = false;  ///< all decoding sequences end together, so that later sequences enter as at the start
  double again = 0;       ///< tokens recomputed after preemption, during `full_steps`
  double again_each = 0;  ///< tokens recomputed in each step that recomputes
  Decoding full;          ///< decoding while sequences wait; if none waits, decoding at the start
  double full_steps = 0;  ///< decode steps while sequences wait
};

/// Seconds that prefill adds to decoding.
struct PrefillSeconds {
  double prompts = 0;
  double again = 0;  ///< recomputation after preemption
};

/// Returns the seconds that prefill adds to decoding.
///
/// With chunked prefill, the first prompts fill steps of at most EngineLimits::batched_tokens, minus the tokens that
/// these steps decode on average. The seconds that this decoding would take alone are subtracted. Later prompts and
/// recomputed tokens are added to decode steps: tokens that arrive together go into one step, unless there are more
/// arrivals than steps. In that case, they are spread evenly over all steps. Each of these steps adds its
/// mixed_step_seconds minus the plain decode step. If all sequences end together (EnginePrefill::in_waves), the next
/// ones start as the first did.
///
/// Without chunked prefill, decoding pauses while the same tokens are computed in separate steps.
PrefillSeconds engine_prefill_seconds(const ModelFacts& facts, const llm::Layout& layout, const EnginePrefill& prefill,
                                      const EngineLimits& limits, const Machine& machine, const Efficiency& efficiency);

}  // namespace dovetail::cost
