// How an engine decodes where its room for keys and values is too small for all of its places: continuous batching with
// preemption, without its randomness.
#pragma once

#include <cstdint>

#include "batching/engine_scheduler.h"
#include "cost/occupancy.h"
#include "workflow/lengths.h"

namespace dovetail::cost {

using batching::cache_block;

/// What an instance of an engine has to do, and room for.
struct CacheWork {
  double sequences = 0;
  double places = 256;  ///< sequences that it decodes together at most
  double prompt = 0;    ///< tokens, on average
  double group = 1;     ///< sequences that share a prompt and its keys and values
  double room = 0;      ///< tokens
};

/// Plays vLLM's rules with fractions of sequences, on a grid of lengths_on_grid: whoever waits first enters where there
/// are a place and room for what it holds; at each step all grow by a token; where the room is too small for that, who
/// entered last is preempted, waits in front of all others and is computed again when it comes back. One sequence at
/// least runs, whatever the room. Whole waves beyond the third are taken to be as the third. All tokens are accounted
/// for: what the parts decode is sequences * mean. REQUIRES: some sequences, places for one.
Occupancy cache_occupancy_of(const workflow::LengthDistribution& lengths, const CacheWork& work);

}  // namespace dovetail::cost
