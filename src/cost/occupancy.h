// Expected number of busy slots of a generation engine over time, under continuous batching.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batching/engine_scheduler.h"
#include "workflow/lengths.h"

namespace dovetail::cost {

/// How an engine instance decodes all its sequences: first while some wait for a slot, then the tail.
struct Occupancy {
  /// Consecutive decode steps, with their average batch.
  struct Stretch {
    double steps = 0;
    double sequences = 0;  ///< sequences that are decoded together
    double context = 0;    ///< mean tokens that a sequence has generated
  };
  std::vector<Stretch> stretches;
  std::size_t tail = 0;            ///< index of the first stretch in which no sequence waits
  double at_start = 0;             ///< sequences that start at the beginning
  double recomputed = 0;           ///< tokens whose keys and values are recomputed
  double recomputing_steps = 0;    ///< steps in which tokens are recomputed
  bool is_short_of_cache = false;  ///< whether a sequence waited for KV cache space or was preempted
};

/// Returns the distribution of the lengths on a grid of 64 equal steps up to the longest: element k, from 0 to 64, is
/// the probability of a length of k / 64 of the longest. The probability of a length between two grid points is split
/// between them so that the mean is preserved.
std::vector<double> lengths_on_grid(const workflow::LengthDistribution& lengths);

/// Returns the occupancy of `places` slots by `sequences` sequences, with enough KV cache for all slots. All slots
/// start together. While sequences wait, a slot is refilled as soon as its sequence ends.
///
/// If the sequences fit in the slots, none waits, and the tail follows the lengths' survival function, in 200
/// stretches. Otherwise completions form a renewal process (Feller, An Introduction to Probability Theory, volume 2,
/// chapter XI). Their expected number is computed on lengths_on_grid. A wave is the time in which as many sequences end
/// as there are slots. Each wave after the third takes as many steps as the mean length, which is the limit of the
/// renewal process. The stretches together decode sequences * mean length tokens. REQUIRES: sequences > 0, places >= 1.
Occupancy occupancy_of(const workflow::LengthDistribution& lengths, double sequences, double places);

using batching::cache_block;

/// The sequences of an engine instance, and its KV cache.
struct CacheWork {
  double sequences = 0;
  double places = 256;      ///< maximum sequences decoded together
  double prompt = 0;        ///< mean tokens of a prompt
  double group = 1;         ///< sequences that share a prompt and its keys and values
  double cache_tokens = 0;  ///< KV cache capacity in tokens
};

/// Returns the occupancy of an instance whose KV cache may be too small for all slots: continuous batching with
/// preemption. It applies vLLM's rules to fractions of sequences on the grid of lengths_on_grid:
/// - Sequences enter in FIFO order while a slot and cache space for their tokens are free.
/// - Each step adds a token to every running sequence. If the cache overflows, the sequence that entered last is
///   preempted. It moves to the head of the queue, and its tokens are recomputed when it enters again.
/// - At least one sequence runs, even if the cache is too small for it.
///
/// A wave is the time in which as many sequences end as run at the start. Waves after the third repeat the third. The
/// stretches together decode sequences * mean length tokens. REQUIRES: sequences > 0, places >= 1.
Occupancy cache_occupancy_of(const workflow::LengthDistribution& lengths, const CacheWork& work);

}  // namespace dovetail::cost
