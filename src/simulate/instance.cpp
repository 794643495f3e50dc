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
    if (engine_.unfinished() > 0) {
      step(time);
    } else {
      if (arrivals_.empty() || arrivals_.front().first >= time) return;
      now_ = arrivals_.front().first;
    }
  }
}

std::vector<Sequence> Instance::leave() {
  std::vector<Sequence> left;
  for (const batching::Sequence& sequence : engine_.leave()) {
    const Member& member = members_[sequence.id];
    left.push_back({sequence, member.sample, member.response});
  }
  for (const auto& [time, sequence] : arrivals_) left.push_back(sequence);
  arrivals_.clear();
  members_.clear();
  show_memory(now_, 0);
  return left;
}

void Instance::receive() {
  while (!arrivals_.empty() && arrivals_.front().first <= now_) {
    Sequence& sequence = arrivals_.front().second;
    sequence.id = members_.size();
    sequence.priority = limits_.longest_first ? sequence.response : 0;
    members_.push_back({sequence.sample, sequence.response});
    engine_.arrive(sequence);
    arrivals_.pop_front();
  }
}

void Instance::step(Ticks time) {
  const batching::EngineStep& step = engine_.next();
  log_.preemptions += static_cast<std::int64_t>(step.preempted.size());
  if (!step.chunks.empty()) {
    show_memory(now_, engine_.blocks_after(1));
    run_chunks(step);
  } else {
    // Sequences without tokens to decode free their slots.
    if (end_finished()) return;
    run_decode_steps(step, time);
  }
  end_finished();
}

/// Simulates one step that computes prompts.
void Instance::run_chunks(const batching::EngineStep& step) {
  const Batch decoding = batch_of(step);
  const Prefill prefill = prefill_of(step);
  const MixedSeconds seconds = clock_->mixed(decoding.sequences, decoding.context, prefill.tokens);
  const Ticks end = now_ + std::max(Ticks(1), base::ticks_of_seconds(seconds.decode.all + seconds.prefill));
  show_chunks(seconds, decoding, prefill, step.chunks.size(), end);
  now_ = end;
  log_.prefilled += prefill.first;
  log_.recomputed += prefill.again;
  log_.decoded += decoding.sequences;
  engine_.advance(1);
}

/// Logs the decoding time, then the extra time for prompts: first recomputation.
void Instance::show_chunks(const MixedSeconds& seconds, const Batch& decoding, const Prefill& prefill,
                           std::size_t sequences, Ticks end) {
  const Ticks decoded = std::min(end, now_ + base::ticks_of_seconds(seconds.decode.all));
  const double part = static_cast<double>(prefill.again) / static_cast<double>(prefill.first + prefill.again);
  const auto computed = static_cast<std::int64_t>(sequences);
  if (decoding.sequences > 0)
    show_span(decoded, BarKind::decode, decoding.sequences, base::ticks_of_seconds(seconds.decode.launch));
  if (prefill.again > 0)
    show_span(prefill.first > 0 ? std::min(end, decoded + base::ticks_of_seconds(seconds.prefill * part)) : end,
              BarKind::recompute, computed, Ticks(0));
  if (prefill.first > 0) show_span(end, BarKind::prefill, computed, Ticks(0));
}

/// Simulates all decode steps up to the next event.
void Instance::run_decode_steps(const batching::EngineStep& step, Ticks time) {
  const Batch decoding = batch_of(step);
  std::int64_t steps = INT64_MAX;
  for (const std::size_t place : step.decoding) {
    const batching::Sequence& sequence = engine_.running()[place];
    steps = std::min(steps, members_[sequence.id].response - sequence.done);
  }
  steps = steps_until(arrivals_.empty() ? time : std::min(time, arrivals_.front().first), decoding,
                      engine_.steps_unchanged(steps));
  const ActivitySeconds seconds = clock_->decode(decoding.sequences, decoding.context, steps);
  const Ticks length = std::max(Ticks(steps), base::ticks_of_seconds(seconds.all));
  const std::int64_t parts = std::clamp<std::int64_t>(steps / 64, 1, 16);
  for (std::int64_t part = 0; part < parts; ++part)
    show_memory(now_ + Ticks(length.count() / parts * part), engine_.blocks_after(steps * (part + 1) / parts));
  show_span(now_ + length, BarKind::decode, decoding.sequences,
            std::min(length, base::ticks_of_seconds(seconds.launch)));
  now_ += length;
  log_.decoded += steps * decoding.sequences;
  engine_.advance(steps);
}

/// Returns the fewest steps that end at `time` or later, or `most` if none do.
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

/// Ends finished sequences. Returns whether there were any.
bool Instance::end_finished() {
  std::vector<std::size_t> finished;
  for (std::size_t place = 0; place < engine_.running().size(); ++place) {
    const batching::Sequence& sequence = engine_.running()[place];
    const Member& member = members_[sequence.id];
    if (sequence.to_compute > 0 || sequence.done < member.response) continue;
    log_.finished.emplace_back(member.sample, now_);
    finished.push_back(place);
  }
  if (finished.empty()) return false;
  engine_.finish(finished);
  show_memory(now_, engine_.blocks_after(0));
  return true;
}

Instance::Batch Instance::batch_of(const batching::EngineStep& step) const {
  std::int64_t tokens = 0;
  for (const std::size_t place : step.decoding) tokens += engine_.running()[place].tokens();
  Batch batch{static_cast<std::int64_t>(step.decoding.size()), 0};
  if (batch.sequences > 0) batch.context = static_cast<double>(tokens) / static_cast<double>(batch.sequences);
  return batch;
}

Instance::Prefill Instance::prefill_of(const batching::EngineStep& step) const {
  Prefill prefill;
  for (const batching::Chunk& chunk : step.chunks) {
    const batching::Sequence& sequence = engine_.running()[chunk.place];
    const auto before = static_cast<double>(sequence.tokens() - sequence.to_compute);
    const double after = before + static_cast<double>(chunk.tokens);
    prefill.tokens.count += static_cast<double>(chunk.tokens);
    prefill.tokens.squares += after * after - before * before;
    (sequence.again ? prefill.again : prefill.first) += chunk.tokens;
  }
  return prefill;
}

void Instance::show_memory(Ticks time, std::int64_t blocks) {
  const auto bytes =
      static_cast<std::int64_t>(std::llround(static_cast<double>(blocks * limits_.block_tokens) * limits_.token_bytes));
  log_.peak = std::max(log_.peak, bytes);
  if (!log_.memory.empty() && log_.memory.back().first == time)
    log_.memory.back().second = bytes;
  else if (log_.memory.empty() || log_.memory.back().second != bytes)
    log_.memory.emplace_back(time, bytes);
}

/// Logs a span from the end of the last one, or from now if nothing ran before.
void Instance::show_span(Ticks end, BarKind bar_kind, std::int64_t amount, Ticks launch) {
  const Ticks begin = std::max(now_, shown_until_);
  shown_until_ = std::max(begin, end);
  if (end <= begin) return;
  Span* last = log_.spans.empty() ? nullptr : &log_.spans.back();
  if (last && last->end == begin && last->bar_kind == bar_kind && last->amount == amount) {
    last->end = end;
    last->launch += launch;
  } else {
    log_.spans.push_back({begin, end, bar_kind, task_, amount, launch});
  }
}

}  // namespace dovetail::simulate
