// A step of a generation engine that computes prompts beside decoding, or alone.
#pragma once

#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "llm/counts.h"
#include "llm/layout.h"

namespace dovetail::cost {

/// Sequences that decode a token each, with so many tokens before them on average.
struct Decoding {
  double sequences = 0;
  double context = 0;
};

/// The same with a host that takes no time: launching kernels, and what an engine adds for each step, layer and
/// sequence.
Efficiency without_launch(Efficiency efficiency);

/// Seconds of one step of an instance that decodes (0 sequences: it does not) and computes keys and values of
/// `prefilled` in the same pass: a roofline (docs/facts.md#decode-step). The longer of the decode step, and, where
/// memory is as fast as can be, of the decode step and the forward pass of prefill_seconds one after the other. What
/// launching kernels takes is in the decode step already; of the pass it counts nothing.
double mixed_step_seconds(const ModelFacts& facts, const llm::Layout& layout, const Decoding& decoding,
                          const llm::Tokens& prefilled, const Machine& machine, const Efficiency& efficiency);

}  // namespace dovetail::cost
