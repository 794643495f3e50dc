#include "batching/engine_scheduler.h"

#include <algorithm>

#include "base/assert.h"

namespace dovetail::batching {

EngineScheduler::EngineScheduler(const EngineLimits& limits) : limits_(limits) {
  DOVETAIL_ASSERT(limits.sequences >= 1 && limits.batched_tokens >= 1 && limits.block_tokens >= 1);
  constexpr std::int64_t max_tokens = 1'000'000'000'000'000;
  DOVETAIL_ASSERT(limits.blocks >= 0 && limits.blocks <= max_tokens / limits.block_tokens);
}

void EngineScheduler::arrive(const Sequence& sequence) {
  DOVETAIL_ASSERT(sequence.prompt >= 1 && sequence.done >= 0);
  const auto place = std::upper_bound(waiting_.begin() + preempted_, waiting_.end(), sequence,
                                      [](const Sequence& a, const Sequence& b) { return a.priority > b.priority; });
  waiting_.insert(place, sequence);
}

const EngineStep& EngineScheduler::next() {
  if (planned_) return step_;
  DOVETAIL_ASSERT(unfinished() > 0);
  step_.preempted.clear();
  step_.admitted = 0;
  step_.chunks.clear();
  step_.decoding.clear();
  const std::int64_t blocks = make_space();
  for (std::size_t place = 0; place < running_.size(); ++place)
    if (running_[place].to_compute == 0) step_.decoding.push_back(place);
  plan_chunks(blocks);
  if (step_.chunks.empty()) {
    // The admitted sequences entered with their keys and values.
    for (std::size_t place = running_.size() - step_.admitted; place < running_.size(); ++place)
      step_.decoding.push_back(place);
  } else if (!limits_.chunked_prefill) {
    step_.decoding.clear();
  }
  DOVETAIL_ASSERT(!step_.chunks.empty() || !step_.decoding.empty());
  planned_ = true;
  return step_;
}

/// Preempts until the next tokens of all running sequences have blocks. Returns the blocks including these tokens.
std::int64_t EngineScheduler::make_space() {
  std::int64_t blocks = blocks_after(1);
  while (running_.size() > 1 && blocks > limits_.blocks) {
    preempt_last();
    blocks = blocks_after(1);
  }
  return blocks;
}

void EngineScheduler::preempt_last() {
  Sequence last = running_.back();
  running_.pop_back();
  release(last);
  last.to_compute = 0;
  last.cached = false;
  last.again = true;
  waiting_.push_front(last);
  ++preempted_;
  step_.preempted.push_back(last.id);
}

/// Plans the tokens to compute: first of running sequences, then of sequences that enter. `blocks` includes the next
/// token of all running sequences.
void EngineScheduler::plan_chunks(std::int64_t blocks) {
  std::int64_t budget = limits_.batched_tokens;
  if (limits_.chunked_prefill)
    budget = std::max<std::int64_t>(0, budget - static_cast<std::int64_t>(step_.decoding.size()));
  for (std::size_t place = 0; place < running_.size(); ++place) budget -= plan_chunk(place, budget);
  constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  while (budget > 0 && admit_next(limits_.chunked_prefill || step_.chunks.empty() ? no_limit : budget, blocks)) {
    ++step_.admitted;
    budget -= plan_chunk(running_.size() - 1, budget);
  }
}

/// Adds the tokens of a sequence that the budget allows, without chunked prefill all of them. Returns their number.
std::int64_t EngineScheduler::plan_chunk(std::size_t place, std::int64_t budget) {
  const std::int64_t to_compute = running_[place].to_compute;
  const std::int64_t tokens = limits_.chunked_prefill ? std::min(budget, to_compute) : to_compute;
  if (tokens > 0) step_.chunks.push_back({place, tokens});
  return tokens;
}

/// Admits the first waiting sequence if it has a slot, blocks and at most `max_to_compute` tokens to compute. Adds its
/// blocks to `blocks`.
bool EngineScheduler::admit_next(std::int64_t max_to_compute, std::int64_t& blocks) {
  if (waiting_.empty() || static_cast<std::int64_t>(running_.size()) >= limits_.sequences) return false;
  Sequence next = waiting_.front();
  const auto held = prompts_.find(prompt_of(next));
  const bool shares = held != prompts_.end();
  const std::int64_t prompt_blocks = shares ? 0 : blocks_for(next.prompt);
  const std::int64_t all_blocks = blocks + blocks_for(next.done + 1) + prompt_blocks;
  if (!running_.empty() && all_blocks > limits_.blocks) return false;
  next.to_compute = next.cached ? 0 : next.done + (shares ? 0 : next.prompt);
  if (next.to_compute > max_to_compute) return false;
  waiting_.pop_front();
  preempted_ = std::max<std::ptrdiff_t>(0, preempted_ - 1);
  Prompt& prompt = shares ? held->second : prompts_[prompt_of(next)];
  prompt.blocks += prompt_blocks;
  prompt_blocks_ += prompt_blocks;
  ++prompt.holders;
  running_.push_back(next);
  blocks = all_blocks;
  return true;
}

std::int64_t EngineScheduler::steps_unchanged(std::int64_t max) const {
  DOVETAIL_ASSERT(planned_ && max >= 1);
  if (!step_.chunks.empty()) return 1;
  if (running_.size() == 1) return max;
  // A decoding sequence takes a block at least every block_tokens steps.
  const std::int64_t bound = limits_.blocks * limits_.block_tokens + 1;
  std::int64_t too_many = std::min(max, bound);
  if (blocks_after(too_many) <= limits_.blocks) return too_many;
  std::int64_t fits = 1;
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (blocks_after(middle) <= limits_.blocks ? fits : too_many) = middle;
  }
  return fits;
}

void EngineScheduler::advance(std::int64_t steps) {
  DOVETAIL_ASSERT(steps_unchanged(steps) == steps || steps == 1);
  for (const std::size_t place : step_.decoding) running_[place].done += steps;
  for (const Chunk& chunk : step_.chunks) running_[chunk.place].to_compute -= chunk.tokens;
  planned_ = false;
}

void EngineScheduler::finish(const std::vector<std::size_t>& places) {
  if (places.empty()) return;
  auto next = places.begin();
  std::size_t kept = 0;
  for (std::size_t place = 0; place < running_.size(); ++place) {
    if (next != places.end() && *next == place) {
      release(running_[place]);
      ++next;
    } else {
      running_[kept++] = running_[place];
    }
  }
  DOVETAIL_ASSERT(next == places.end());
  running_.resize(kept);
  planned_ = false;
}

std::vector<Sequence> EngineScheduler::leave() {
  std::vector<Sequence> left = running_;
  for (Sequence& sequence : left) {
    sequence.cached = sequence.to_compute == 0;
    // A partial computation is lost.
    sequence.again = !sequence.cached && (sequence.again || sequence.done > 0 || sequence.to_compute < sequence.prompt);
  }
  left.insert(left.end(), waiting_.begin(), waiting_.end());
  *this = EngineScheduler(limits_);
  return left;
}

std::int64_t EngineScheduler::blocks_after(std::int64_t steps) const {
  const std::int64_t until_decoding = std::min<std::int64_t>(1, steps);
  std::int64_t blocks = prompt_blocks_;
  for (const Sequence& sequence : running_)
    blocks += blocks_for(sequence.done + (sequence.to_compute > 0 ? until_decoding : steps));
  return blocks;
}

void EngineScheduler::release(const Sequence& sequence) {
  const auto held = prompts_.find(prompt_of(sequence));
  DOVETAIL_ASSERT(held != prompts_.end());
  if (--held->second.holders > 0) return;
  prompt_blocks_ -= held->second.blocks;
  prompts_.erase(held);
}

/// Returns the key of its prompt: its group, or its id without sharing.
std::int64_t EngineScheduler::prompt_of(const Sequence& sequence) const {
  return limits_.prefix_sharing ? sequence.group : static_cast<std::int64_t>(sequence.id);
}

}  // namespace dovetail::batching
