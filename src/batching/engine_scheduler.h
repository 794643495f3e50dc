// The rules by which a generation engine batches sequences continuously over a paged cache of keys and values. No
// clock, no log, and no lengths of responses: the caller says which sequences have ended. The simulator and the runtime
// run this code.
//
// The rules are vLLM's (V1 scheduler) but for what they say themselves:
// - Sequences wait by priority, and of one priority in the order in which they arrived. The first of them enters when a
// place is free and
//   its prompt, what it decoded before and one token more have blocks; nobody passes it.
// - A decode step reads the last token of a sequence and makes the next one. A step decodes a token of each running
// sequence and computes,
//   with chunked prefill, up to batched_tokens, less these, of sequences that have entered, in that order. Without it
//   decoding pauses while whole prompts are computed, as many as batched_tokens allows and at least one. A sequence
//   decodes from the step after its last token was computed; one that enters with all of its keys and values decodes at
//   once in a step that computes nothing.
// - Sequences of one group share their prompt: it is computed by the first that enters, and its blocks are held once,
// for as long as any of
//   them runs. Nobody enters before the prompts of all that run are computed, or will be by the same step.
// - When running sequences lack blocks for their next token, the one that entered last is preempted: its blocks are
// free, it waits in front
//   of all others, and all its tokens are computed again. In that step nobody enters: there is no room for it, and
//   nobody passes it. The last sequence that runs is never preempted: one that is longer than the cache runs alone,
//   beyond it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <vector>

namespace dovetail::batching {

/// Tokens of a block of the cache of keys and values (vLLM's default).
inline constexpr std::int64_t cache_block = 16;

struct EngineLimits {
  std::int64_t sequences = 256;        ///< decoded together
  std::int64_t batched_tokens = 8192;  ///< of a step: those that are decoded, and those that are computed
  bool chunked_prefill = true;
  bool prefix_sharing = true;
  std::int64_t block_tokens = cache_block;  ///< of a block of the cache
  std::int64_t blocks = 0;                  ///< of the cache
};

/// What an engine knows of a sequence. Its prompt has whole blocks, and what it decodes begins with a block of its own.
struct Sequence {
  std::size_t id = 0;  ///< the caller's name for it; no two in an engine have the same
  std::int64_t prompt = 0;
  std::int64_t group = 0;       ///< who else has this prompt
  std::int64_t priority = 0;    ///< those with more wait in front
  std::int64_t done = 0;        ///< tokens decoded
  std::int64_t to_compute = 0;  ///< of a running one: tokens whose keys and values are still to be computed
  bool cached = false;          ///< its keys and values come with it
  bool again = false;           ///< what is computed has been there before

  std::int64_t tokens() const { return prompt + done; }
};

/// Tokens of a running sequence that a step computes keys and values of: the first of its `to_compute`.
struct Chunk {
  std::size_t place = 0;  ///< of EngineScheduler::running
  std::int64_t tokens = 0;

  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// What one step does.
struct EngineStep {
  std::vector<std::size_t> preempted;  ///< before it; ids, in that order
  std::size_t admitted = 0;            ///< before it: so many that run, the last ones
  std::vector<Chunk> chunks;           ///< by place
  std::vector<std::size_t> decoding;   ///< places of those of which a token is decoded, ascending
};

/// One engine's sequences, step by step: next, advance, finish, and again. A value: a copy goes on by itself.
///
/// Between calls: no more sequences run than have places; the blocks of all that run, with a token more for each, are
/// within the cache once `next` has planned the step, unless a single one runs; a prompt is held by those that run, and
/// by nobody else. While any sequence is unfinished a step decodes or computes at least one token.
class EngineScheduler {
 public:
  /// REQUIRES: limits of at least 1, blocks of at least 0, a cache of at most 10^15 tokens.
  explicit EngineScheduler(const EngineLimits& limits);

  /// The sequence waits from now on. REQUIRES: a prompt of at least 1 token.
  void arrive(const Sequence& sequence);
  /// Preempts and admits, and says what the step then does. It stays the next one until advance or finish: arrivals
  /// change only those behind it. REQUIRES: something is unfinished.
  const EngineStep& next();
  /// How many steps, at most `max`, are like the one that `next` planned for as long as nothing arrives or ends: 1
  /// where it computes, else as many as have blocks for all. REQUIRES: next; max >= 1.
  std::int64_t steps_unchanged(std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  /// The step that `next` planned was done so many times. REQUIRES: next; 1 <= steps <= steps_unchanged().
  void advance(std::int64_t steps);
  /// Those in these places of running() have ended and hold nothing more. A step that is planned is no longer, but whom
  /// it preempted and admitted stays so. REQUIRES: ascending.
  void finish(const std::vector<std::size_t>& places);
  /// Takes all sequences away: those that run first, in the order of their entry. Their `cached` says whether keys and
  /// values of all their tokens are there.
  std::vector<Sequence> leave();

  /// In the order of their entry.
  const std::vector<Sequence>& running() const { return running_; }
  const std::deque<Sequence>& waiting() const { return waiting_; }
  std::size_t unfinished() const { return waiting_.size() + running_.size(); }
  /// Blocks that are held when so many more steps have been decoded; from 1 on with a token for each sequence that does
  /// not decode yet.
  std::int64_t blocks_after(std::int64_t steps) const;

 private:
  struct Prompt {
    std::int64_t holders = 0;
    std::int64_t blocks = 0;
  };

  std::int64_t make_room();
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
  std::ptrdiff_t preempted_ = 0;            // the first of those that wait: whom no arrival passes
  std::vector<Sequence> running_;           // in the order of their entry
  std::map<std::int64_t, Prompt> prompts_;  // held by running sequences
  std::int64_t prompt_blocks_ = 0;          // of all of them
  EngineStep step_;
  bool planned_ = false;  // step_ is the next one
};

}  // namespace dovetail::batching
