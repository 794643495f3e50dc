#include "simulate/instance.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace dovetail::simulate {

using base::Ticks;

void Instance::arrive(Ticks time, const Sequence& sequence) {
  DOVETAIL_ASSERT(arrivals_.empty() || time >= arrivals_.back().first);
  arrivals_.emplace_back(time, sequence);
}

void Instance::run_until(Ticks time) {
  while (now_ < time) {
    receive();
    if (!running_.empty() || !waiting_.empty()) {
      step(time);
    } else {
      if (arrivals_.empty() || arrivals_.front().first >= time) return;
      now_ = arrivals_.front().first;
    }
  }
}

std::vector<Sequence> Instance::leave() {
  std::vector<Sequence> left;
  for (Sequence& sequence : running_) {
    sequence.cached = sequence.to_compute == 0;
    // What was computed of it in part is lost.
    sequence.again = !sequence.cached && (sequence.again || sequence.done > 0 || sequence.to_compute < sequence.prompt);
    left.push_back(sequence);
  }
  left.insert(left.end(), waiting_.begin(), waiting_.end());
  for (const auto& [time, sequence] : arrivals_) left.push_back(sequence);
  running_.clear();
  waiting_.clear();
  arrivals_.clear();
  prompts_.clear();
  prompt_blocks_ = 0;
  show_memory(now_, 0);
  return left;
}

void Instance::receive() {
  while (!arrivals_.empty() && arrivals_.front().first <= now_) {
    const Sequence& sequence = arrivals_.front().second;
    auto place = waiting_.end();
    if (limits_.longest_first)
      place = std::upper_bound(waiting_.begin(), waiting_.end(), sequence,
                               [](const Sequence& a, const Sequence& b) { return a.response > b.response; });
    waiting_.insert(place, sequence);
    arrivals_.pop_front();
  }
}

void Instance::step(Ticks time) {
  const bool preempted = make_room();
  const Batch decoding = batch();
  const std::size_t ran = running_.size();
  const Chunk chunk = next_chunk(decoding.sequences, !preempted);
  if (!chunk.parts.empty()) {
    show_memory(now_, blocks_after(1));
    play_chunk(limits_.chunked_prefill ? decoding : Batch{}, ran, chunk);
  } else {
    // Who entered with its keys and values decodes at once; who has nothing to decode leaves its place to others.
    if (end_finished()) return;
    const Batch all = batch();
    if (all.sequences > 0) play_stretch(all, time);
  }
  end_finished();
}

/// Preempts until the next token of all that run has a block: whether it did.
bool Instance::make_room() {
  bool preempted = false;
  while (running_.size() > 1 && blocks_after(1) > limits_.blocks) {
    preempt_last();
    preempted = true;
  }
  return preempted;
}

void Instance::preempt_last() {
  Sequence last = running_.back();
  running_.pop_back();
  release(last);
  last.to_compute = 0;
  last.cached = false;
  last.again = true;
  waiting_.push_front(last);
  ++log_.preemptions;
}

/// Who is computed in the next step: those that have entered and are not complete, then those that enter.
Instance::Chunk Instance::next_chunk(std::int64_t decoding, bool may_enter) {
  Chunk chunk;
  const std::int64_t all = limits_.chunked_prefill ? std::max<std::int64_t>(0, limits_.batched_tokens - decoding) : limits_.batched_tokens;
  const auto budget = [&] { return all - chunk.first - chunk.again; };
  for (std::size_t index = 0; index < running_.size(); ++index) compute(index, budget(), chunk);
  while (may_enter && budget() > 0 && enter_next(limits_.chunked_prefill || chunk.parts.empty() ? INT64_MAX : budget()))
    compute(running_.size() - 1, budget(), chunk);
  return chunk;
}

/// Adds to the chunk what the budget allows of a sequence; without chunks all of it.
void Instance::compute(std::size_t index, std::int64_t budget, Chunk& chunk) const {
  const Sequence& sequence = running_[index];
  const std::int64_t tokens = limits_.chunked_prefill ? std::min(budget, sequence.to_compute) : sequence.to_compute;
  if (tokens <= 0) return;
  const auto before = static_cast<double>(sequence.tokens() - sequence.to_compute);
  const double after = before + static_cast<double>(tokens);
  chunk.parts.emplace_back(index, tokens);
  chunk.tokens.count += static_cast<double>(tokens);
  chunk.tokens.squares += after * after - before * before;
  (sequence.again ? chunk.again : chunk.first) += tokens;
}

/// Lets the first that waits in, where it has a place and blocks, and no more tokens than that are to be computed.
bool Instance::enter_next(std::int64_t most_to_compute) {
  if (waiting_.empty() || static_cast<std::int64_t>(running_.size()) >= limits_.sequences) return false;
  Sequence next = waiting_.front();
  const auto held = prompts_.find(key_of(next));
  const bool shares = held != prompts_.end();
  const std::int64_t blocks = blocks_for(next.done + 1) + (shares ? 0 : blocks_for(next.prompt));
  if (!running_.empty() && blocks_after(1) + blocks > limits_.blocks) return false;
  next.to_compute = next.cached ? 0 : next.done + (shares ? 0 : next.prompt);
  if (next.to_compute > most_to_compute) return false;
  waiting_.pop_front();
  Prompt& prompt = shares ? held->second : prompts_[key_of(next)];
  if (!shares) {
    prompt.blocks = blocks_for(next.prompt);
    prompt_blocks_ += prompt.blocks;
  }
  ++prompt.holders;
  running_.push_back(next);
  return true;
}

/// One step in which prompts are computed; of the first `ran` sequences those that are complete decode.
void Instance::play_chunk(const Batch& decoding, std::size_t ran, const Chunk& chunk) {
  const MixedSeconds seconds = clock_->mixed(decoding.sequences, decoding.context, chunk.tokens);
  const Ticks end = now_ + std::max(Ticks(1), base::ticks_of_seconds(seconds.decode.all + seconds.prefill));
  show_chunk(seconds, decoding, chunk, end);
  now_ = end;
  log_.prefilled += chunk.first;
  log_.recomputed += chunk.again;
  log_.decoded += decoding.sequences;
  if (decoding.sequences > 0)
    for (std::size_t index = 0; index < ran; ++index)
      if (running_[index].to_compute == 0) ++running_[index].done;
  for (const auto& [index, tokens] : chunk.parts) running_[index].to_compute -= tokens;
}

/// What decoding takes alone, then what prompts add to it: first what is computed again.
void Instance::show_chunk(const MixedSeconds& seconds, const Batch& decoding, const Chunk& chunk, Ticks end) {
  const Ticks decoded = std::min(end, now_ + base::ticks_of_seconds(seconds.decode.all));
  const double part = static_cast<double>(chunk.again) / static_cast<double>(chunk.first + chunk.again);
  const auto sequences = static_cast<std::int64_t>(chunk.parts.size());
  if (decoding.sequences > 0) show_span(decoded, Activity::decode, decoding.sequences, base::ticks_of_seconds(seconds.decode.launch));
  if (chunk.again > 0)
    show_span(chunk.first > 0 ? std::min(end, decoded + base::ticks_of_seconds(seconds.prefill * part)) : end, Activity::recompute,
              sequences, Ticks(0));
  if (chunk.first > 0) show_span(end, Activity::prefill, sequences, Ticks(0));
}

/// All decode steps up to the next event.
void Instance::play_stretch(const Batch& decoding, Ticks time) {
  std::int64_t steps = INT64_MAX;
  for (const Sequence& sequence : running_)
    if (sequence.to_compute == 0) steps = std::min(steps, sequence.response - sequence.done);
  steps = steps_until(arrivals_.empty() ? time : std::min(time, arrivals_.front().first), decoding, steps_with_room(steps));
  const StepSeconds seconds = clock_->decode(decoding.sequences, decoding.context, steps);
  const Ticks length = std::max(Ticks(steps), base::ticks_of_seconds(seconds.all));
  const std::int64_t parts = std::clamp<std::int64_t>(steps / 64, 1, 16);
  for (std::int64_t part = 0; part < parts; ++part)
    show_memory(now_ + Ticks(length.count() / parts * part), blocks_after(steps * (part + 1) / parts));
  show_span(now_ + length, Activity::decode, decoding.sequences, std::min(length, base::ticks_of_seconds(seconds.launch)));
  now_ += length;
  log_.decoded += steps * decoding.sequences;
  for (Sequence& sequence : running_)
    if (sequence.to_compute == 0) sequence.done += steps;
}

/// The fewest steps that end at `time` or later; `most` where none do.
std::int64_t Instance::steps_until(Ticks time, const Batch& decoding, std::int64_t most) const {
  const auto end_of = [&](std::int64_t steps) {
    return now_ + base::ticks_of_seconds(clock_->decode(decoding.sequences, decoding.context, steps).all);
  };
  if (end_of(most) <= time) return most;
  std::int64_t too_few = 0;
  while (most - too_few > 1) {
    const std::int64_t middle = too_few + (most - too_few) / 2;
    (end_of(middle) < time ? too_few : most) = middle;
  }
  return most;
}

/// Whether any has.
bool Instance::end_finished() {
  std::size_t kept = 0;
  for (std::size_t index = 0; index < running_.size(); ++index) {
    const Sequence sequence = running_[index];
    if (sequence.to_compute == 0 && sequence.done >= sequence.response) {
      log_.finished.emplace_back(sequence.sample, now_);
      release(sequence);
    } else {
      running_[kept++] = sequence;
    }
  }
  if (kept == running_.size()) return false;
  running_.resize(kept);
  show_memory(now_, running_.empty() ? 0 : blocks_after(0));
  return true;
}

void Instance::release(const Sequence& sequence) {
  const auto held = prompts_.find(key_of(sequence));
  DOVETAIL_ASSERT(held != prompts_.end());
  if (--held->second.holders > 0) return;
  prompt_blocks_ -= held->second.blocks;
  prompts_.erase(held);
}

Instance::Batch Instance::batch() const {
  Batch batch;
  std::int64_t tokens = 0;
  for (const Sequence& sequence : running_) {
    if (sequence.to_compute > 0) continue;
    ++batch.sequences;
    tokens += sequence.tokens();
  }
  if (batch.sequences > 0) batch.context = static_cast<double>(tokens) / static_cast<double>(batch.sequences);
  return batch;
}

/// Whose prompt it shares: that of its group, or nobody's.
std::int64_t Instance::key_of(const Sequence& sequence) const {
  return limits_.prefix_sharing ? sequence.group : static_cast<std::int64_t>(sequence.sample);
}

/// Blocks that are held when so many more steps have been decoded.
std::int64_t Instance::blocks_after(std::int64_t steps) const {
  std::int64_t blocks = prompt_blocks_;
  for (const Sequence& sequence : running_)
    blocks += blocks_for(sequence.done + (sequence.to_compute > 0 ? std::min<std::int64_t>(1, steps) : steps));
  return blocks;
}

/// How many steps, at least 1 and at most `most`, have blocks for all.
std::int64_t Instance::steps_with_room(std::int64_t most) const {
  if (running_.size() == 1 || blocks_after(most) <= limits_.blocks) return most;
  std::int64_t fits = 1;
  std::int64_t too_many = most;
  while (too_many - fits > 1) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (blocks_after(middle) <= limits_.blocks ? fits : too_many) = middle;
  }
  return fits;
}

void Instance::show_memory(Ticks time, std::int64_t blocks) {
  const auto bytes = static_cast<std::int64_t>(std::llround(static_cast<double>(blocks * limits_.block_tokens) * limits_.token_bytes));
  log_.peak = std::max(log_.peak, bytes);
  if (!log_.memory.empty() && log_.memory.back().first == time)
    log_.memory.back().second = bytes;
  else if (log_.memory.empty() || log_.memory.back().second != bytes)
    log_.memory.emplace_back(time, bytes);
}

/// From the end of the last one, or from now where nothing ran before.
void Instance::show_span(Ticks end, Activity activity, std::int64_t amount, Ticks launch) {
  const Ticks begin = std::max(now_, shown_until_);
  shown_until_ = std::max(begin, end);
  if (end <= begin) return;
  Span* last = log_.spans.empty() ? nullptr : &log_.spans.back();
  if (last && last->end == begin && last->activity == activity && last->amount == amount) {
    last->end = end;
    last->launch += launch;
  } else {
    log_.spans.push_back({begin, end, activity, task_, amount, launch});
  }
}

}  // namespace dovetail::simulate
