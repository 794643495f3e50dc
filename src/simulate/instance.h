// One instance of a generation engine, from event to event: continuous batching over a paged cache of keys and values.
//
// An instance is one data-parallel replica of the actor's generate layout. It plays these rules, which are vLLM's (V1 scheduler) but for
// what they say themselves:
// - A sequence of prompt p and response r decodes r steps; the first has p tokens before it (as in cost/generation.h). One of r = 0 ends
// with
//   its prefill.
// - Sequences wait in the order in which they arrived, or, where lengths are predicted, longest response first. The first of them enters
//   when a place is free and its prompt, what it decoded before and one token more have blocks; nobody passes it.
// - A step decodes a token of each running sequence and computes, with chunked prefill, up to max_batched_tokens - decoding tokens of
//   sequences that have entered, in that order. Without it decoding pauses while whole prompts are computed, as many as max_batched_tokens
//   allows and at least one. A sequence decodes from the step after its last token was computed.
// - Samples of one group share their prompt: it is computed by the first that enters, and its blocks are held once, for as long as any of
//   them runs.
// - When running sequences lack blocks for their next token, the one that entered last is preempted: its blocks are free, it waits in front
//   of all others, and all its tokens are computed again. In that step nobody enters. The last sequence that runs is never preempted: one
//   that is longer than the cache runs alone, beyond it.
// - Between two events (a sequence ends, enters, is preempted or arrives) all decode steps are one stretch of time, whose seconds are a sum
//   over StepClock's pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "cost/cache_occupancy.h"
#include "simulate/step_clock.h"
#include "simulate/trace.h"

namespace dovetail::simulate {

struct InstanceLimits {
  std::int64_t sequences = 256;        ///< decoded together
  std::int64_t batched_tokens = 8192;  ///< of a step: those that are decoded, and those of prompts
  bool chunked_prefill = true;
  bool prefix_sharing = true;
  bool longest_first = false;
  std::int64_t block_tokens = cost::cache_block;  ///< of a block of the cache
  std::int64_t blocks = 0;                        ///< of the cache
  double token_bytes = 0;                         ///< keys and values of a token, on each device
};

/// A sample on an instance.
struct Sequence {
  std::size_t sample = 0;
  std::int64_t prompt = 0;
  std::int64_t response = 0;
  std::int64_t group = 0;
  std::int64_t done = 0;        ///< tokens decoded
  std::int64_t to_compute = 0;  ///< of a running one: tokens whose keys and values are still to be computed
  bool cached = false;          ///< its keys and values come with it
  bool again = false;           ///< what is computed has been there before

  std::int64_t tokens() const { return prompt + done; }
};

/// What an instance did.
struct InstanceLog {
  std::vector<std::pair<std::size_t, base::Ticks>> finished;  ///< sample and time, in order of time
  std::vector<Span> spans;                                    ///< in order; gaps where nothing ran
  /// Keys and values on each device from that time on. Within a stretch they grow step by step: at most 16 steps are shown, each as high as
  /// its end.
  std::vector<std::pair<base::Ticks, std::int64_t>> memory;
  std::int64_t peak = 0;        ///< bytes
  std::int64_t decoded = 0;     ///< tokens
  std::int64_t prefilled = 0;   ///< tokens computed for the first time
  std::int64_t recomputed = 0;  ///< tokens computed again
  std::int64_t preemptions = 0;
};

/// A value: a copy goes on by itself. The clock must outlive it, and is shared by copies.
class Instance {
 public:
  Instance(const InstanceLimits& limits, StepClock& clock, std::int32_t task) : limits_(limits), clock_(&clock), task_(task) {}

  /// A sequence that is there from `time` on. REQUIRES: not before that of an earlier call.
  void arrive(base::Ticks time, const Sequence& sequence);
  /// Goes on until the first end of a step that is not before `time`, or until nothing is left.
  void run_until(base::Ticks time);
  /// The end of the last step.
  base::Ticks now() const { return now_; }
  /// How many sequences have arrived, or will, and have not ended.
  std::size_t unfinished() const { return arrivals_.size() + waiting_.size() + running_.size(); }
  /// Takes all of them away: those that run first, in the order of their entry. Their `cached` says whether keys and values of all their
  /// tokens are there.
  std::vector<Sequence> leave();

  const InstanceLog& log() const { return log_; }

 private:
  struct Prompt {
    std::int64_t holders = 0;
    std::int64_t blocks = 0;
  };
  /// What a step computes of prompts.
  struct Chunk {
    std::vector<std::pair<std::size_t, std::int64_t>> parts;  // who of those that run, and how many tokens
    llm::Tokens tokens;                                       // all of them
    std::int64_t first = 0;                                   // of these: computed for the first time
    std::int64_t again = 0;
  };
  /// Running sequences that decode, and the tokens before each on average.
  struct Batch {
    std::int64_t sequences = 0;
    double context = 0;
  };

  void receive();
  void step(base::Ticks time);
  bool make_room();
  void preempt_last();
  Chunk next_chunk(std::int64_t decoding, bool may_enter);
  void compute(std::size_t index, std::int64_t budget, Chunk& chunk) const;
  bool enter_next(std::int64_t most_to_compute);
  void play_chunk(const Batch& decoding, std::size_t ran, const Chunk& chunk);
  void show_chunk(const MixedSeconds& seconds, const Batch& decoding, const Chunk& chunk, base::Ticks end);
  void play_stretch(const Batch& decoding, base::Ticks time);
  std::int64_t steps_until(base::Ticks time, const Batch& decoding, std::int64_t most) const;
  bool end_finished();
  void release(const Sequence& sequence);

  Batch batch() const;
  std::int64_t key_of(const Sequence& sequence) const;
  std::int64_t blocks_for(std::int64_t tokens) const { return (tokens + limits_.block_tokens - 1) / limits_.block_tokens; }
  std::int64_t blocks_after(std::int64_t steps) const;
  std::int64_t steps_with_room(std::int64_t most) const;
  void show_memory(base::Ticks time, std::int64_t blocks);
  void show_span(base::Ticks end, Activity activity, std::int64_t amount, base::Ticks launch);

  InstanceLimits limits_;
  StepClock* clock_;
  std::int32_t task_;
  base::Ticks now_;
  base::Ticks shown_until_;
  std::deque<std::pair<base::Ticks, Sequence>> arrivals_;
  std::deque<Sequence> waiting_;
  std::vector<Sequence> running_;           // in the order of their entry
  std::map<std::int64_t, Prompt> prompts_;  // held by running sequences
  std::int64_t prompt_blocks_ = 0;          // of all of them
  InstanceLog log_;
};

}  // namespace dovetail::simulate
