// Continuous batching in a generation engine with a paged KV cache. The scheduler needs neither a clock nor response
// lengths: the caller reports which sequences have ended. The simulator and the runtime both run this code.
//
// The rules follow vLLM's V1 scheduler:
//
// - Sequences wait by priority, then in order of arrival. The first one in line enters when a slot is free and blocks
//   are free for its prompt, its decoded tokens and one more token. Until then, the sequences after it wait as well.
//   Sequences enter only in a step that computes all remaining tokens of the running sequences and does not use up
//   batched_tokens for them.
// - To compute a token is to compute its keys and values. To decode is to compute the last token of a sequence and to
//   produce the next one.
// - A step decodes one token for each running sequence that has nothing else left to compute. With chunked prefill, it
//   also computes tokens of the other running sequences, in order of entry, up to batched_tokens minus the decoded
//   ones. Without chunked prefill, decoding pauses while whole sequences are computed: as many as batched_tokens
//   allows, at least one.
// - A sequence first decodes in the step after all its other tokens were computed. A sequence that enters with its
//   whole KV cache decodes in the step in which it enters, unless that step computes tokens of other sequences.
// - With prefix sharing, sequences of a group share their prompt. The first one that enters computes it. One copy of
//   the prompt's blocks is held until no sequence of the group runs.
// - If running sequences lack blocks for their next token, the one that entered last is preempted. Its blocks are
//   freed, it waits ahead of all others, and all its tokens are recomputed, except a prompt that other running
//   sequences hold. No sequence enters in that step: the preempted one does not fit, and no other overtakes it.
// - The only running sequence is never preempted. A sequence longer than the cache runs alone and exceeds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <vector>

namespace dovetail::batching {

/// Tokens in a block of the KV cache (vLLM's default).
inline constexpr std::int64_t cache_block = 16;

struct EngineLimits {
  std::int64_t sequences = 256;        ///< maximum number of running sequences (slots)
  std::int64_t batched_tokens = 8192;  ///< limit of the tokens that a step decodes and computes; see the rules above
  bool chunked_prefill = true;
  bool prefix_sharing = true;
  std::int64_t block_tokens = cache_block;  ///< tokens in a block
  std::int64_t blocks = 0;                  ///< number of blocks in the KV cache
};

/// A sequence as the engine sees it. Its prompt occupies whole blocks, and its decoded tokens start in a separate
/// block.
struct Sequence {
  std::size_t id = 0;           ///< chosen by the caller, unique in the engine
  std::int64_t prompt = 0;      ///< tokens of the prompt
  std::int64_t group = 0;       ///< sequences of one group have the same prompt
  std::int64_t priority = 0;    ///< sequences with higher values enter first
  std::int64_t done = 0;        ///< tokens decoded
  std::int64_t to_compute = 0;  ///< while running: tokens whose keys and values are not computed yet
  bool cached = false;          ///< it enters with its KV cache, so nothing is computed
  bool again = false;           ///< its tokens were computed before and are recomputed

  std::int64_t tokens() const { return prompt + done; }
};

/// Tokens of a running sequence that a step computes: the next `tokens` of the sequence's `to_compute` tokens.
struct Chunk {
  std::size_t place = 0;  ///< index in EngineScheduler::running
  std::int64_t tokens = 0;

  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// One step of the engine.
struct EngineStep {
  std::vector<std::size_t> preempted;  ///< ids preempted before the step, in order
  std::size_t admitted = 0;            ///< sequences admitted before the step: the last ones in running()
  std::vector<Chunk> chunks;           ///< tokens to compute, by ascending Chunk::place
  std::vector<std::size_t> decoding;   ///< indices in running() of sequences that decode a token, ascending
};

/// Schedules the sequences of one engine step by step: call next, advance and finish, and repeat. Copies are
/// independent.
///
/// Invariants between calls:
/// - The running sequences fit in the slots.
/// - Once `next` has planned a step, the blocks of the running sequences, with one more token each, fit in the cache,
///   unless only one sequence runs.
/// - Only running sequences hold the blocks of prompts.
/// - While any sequence is unfinished, a step decodes or computes at least one token.
class EngineScheduler {
 public:
  /// REQUIRES: `sequences`, `batched_tokens` and `block_tokens` are at least 1, `blocks` is at least 0, and the blocks
  /// hold at most 10^15 tokens.
  explicit EngineScheduler(const EngineLimits& limits);

  /// Adds a waiting sequence. REQUIRES: a prompt of at least 1 token.
  void arrive(const Sequence& sequence);
  /// Preempts and admits sequences and returns the next step. Further calls return the same step until advance or
  /// finish is called; arrivals affect later steps. REQUIRES: some sequence is unfinished.
  const EngineStep& next();
  /// Returns how many times, at most `max`, the step that `next` planned can run unchanged if no sequence arrives or
  /// ends. This is 1 if the step computes tokens, and `max` if only one sequence runs. Otherwise the free blocks limit
  /// the number. REQUIRES: next was called; max >= 1.
  std::int64_t steps_unchanged(std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  /// Executes `steps` repetitions of the step that `next` planned. REQUIRES: next was called; 1 <= steps <=
  /// steps_unchanged().
  void advance(std::int64_t steps);
  /// Ends the sequences at these indices of running() and frees their blocks. Discards a planned step, but keeps its
  /// preemptions and admissions. Does nothing if `places` is empty. REQUIRES: ascending indices.
  void finish(const std::vector<std::size_t>& places);
  /// Removes and returns all sequences: first the running ones in order of entry, then the waiting ones. `cached` of a
  /// running sequence is set if its keys and values are all computed.
  std::vector<Sequence> leave();

  /// Returns the running sequences in order of entry.
  const std::vector<Sequence>& running() const { return running_; }
  const std::deque<Sequence>& waiting() const { return waiting_; }
  std::size_t unfinished() const { return waiting_.size() + running_.size(); }
  /// Returns the blocks in use after `steps` more decode steps. If steps >= 1, a sequence that does not decode yet
  /// counts as decoding one token in total.
  std::int64_t blocks_after(std::int64_t steps) const;

 private:
  struct Prompt {
    std::int64_t holders = 0;
    std::int64_t blocks = 0;
  };

  std::int64_t make_space();
  void preempt_last();
  void plan_chunks(std::int64_t blocks);
  std::int64_t plan_chunk(std::size_t place, std::int64_t budget);
  bool admit_next(std::int64_t max_to_compute, std::int64_t& blocks);
  void release(const Sequence& sequence);
  std::int64_t prompt_of(const Sequence& sequence) const;
  std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + limits_.block_tokens - 1) / limits_.block_tokens;
  }

  EngineLimits limits_;
  std::deque<Sequence> waiting_;
  std::ptrdiff_t preempted_ =
      0;  // number of preempted sequences at the front of waiting_, which arrivals do not overtake
  std::vector<Sequence> running_;           // in order of entry
  std::map<std::int64_t, Prompt> prompts_;  // held by running sequences
  std::int64_t prompt_blocks_ = 0;          // total of prompts_
  EngineStep step_;
  bool planned_ = false;  // step_ is valid
};

}  // namespace dovetail::batching
