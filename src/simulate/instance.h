// One instance of a generation engine, simulated from event to event: continuous batching over a paged KV cache.
//
// An instance is one data-parallel replica of the actor's generate layout. batching/engine_scheduler.h has the batching
// rules. This file adds the clock, the ends of sequences, and the log:
//
// - A sequence with a prompt of p tokens and a response of r tokens decodes in r steps. Before the first of them, it
//   has p tokens (as in cost/generation.h). A sequence with r = 0 ends with its prefill.
// - With InstanceLimits::longest_first, the sequence with the longest response enters first.
// - Between two events (a sequence ends, enters, is preempted or arrives), all decode steps form one stretch of time,
//   whose seconds StepClock computes in one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "batching/engine_scheduler.h"
#include "llm/counts.h"
#include "simulate/step_clock.h"
#include "simulate/trace.h"

namespace dovetail::simulate {

struct InstanceLimits : batching::EngineLimits {
  bool longest_first = false;  ///< response lengths are known, and sequences with longer responses enter first
  double token_bytes = 0;      ///< bytes of KV cache of a token on each device
};

/// A sample on an instance: the engine's view, and the fields that only the simulator knows. The instance assigns `id`.
struct Sequence : batching::Sequence {
  std::size_t sample = 0;
  std::int64_t response = 0;
};

/// Activities, memory and totals of an instance up to now().
struct InstanceLog {
  /// Finished samples and their end times, in order of time
  std::vector<std::pair<std::size_t, base::Ticks>> finished;
  std::vector<Span> spans;  ///< activities in order of time; gaps while nothing ran

  /// KV cache in use over time: (start, bytes on each device), in order of time. A stretch of decode steps is divided
  /// into at most 16 intervals, and each counts as holding the bytes in use at its end.
  std::vector<std::pair<base::Ticks, std::int64_t>> memory;
  std::int64_t peak = 0;        ///< peak of the KV cache on each device, in bytes
  std::int64_t decoded = 0;     ///< tokens decoded
  std::int64_t prefilled = 0;   ///< tokens computed for the first time
  std::int64_t recomputed = 0;  ///< tokens recomputed
  std::int64_t preemptions = 0;
};

/// An instance as a value: copies continue independently. They share the clock, which must outlive them.
class Instance {
 public:
  Instance(const InstanceLimits& limits, StepClock& clock, std::int32_t task)
      : limits_(limits), clock_(&clock), task_(task), engine_(limits) {}

  /// Adds a sequence that arrives at `time`. REQUIRES: times do not decrease from call to call.
  void arrive(base::Ticks time, const Sequence& sequence);
  /// Runs to the end of the first step that does not end before `time`, or until all sequences that arrive before
  /// `time` have ended.
  void run_until(base::Ticks time);
  /// Returns the end of the last step.
  base::Ticks now() const { return now_; }
  /// Returns the number of sequences that have not ended, including those yet to arrive.
  std::size_t unfinished() const { return arrivals_.size() + engine_.unfinished(); }
  /// Removes and returns all unfinished sequences: running ones first, in order of entry. Sets `cached` of a sequence
  /// if the KV cache has all its tokens.
  std::vector<Sequence> leave();

  const InstanceLog& log() const { return log_; }

 private:
  /// A sequence that has arrived, indexed by its id.
  struct Member {
    std::size_t sample = 0;
    std::int64_t response = 0;
  };
  /// Tokens whose keys and values a step computes, apart from decoding.
  struct Prefill {
    llm::Tokens tokens;      // total of first and recomputed tokens
    std::int64_t first = 0;  // tokens computed for the first time
    std::int64_t again = 0;  // recomputed tokens
  };
  /// Running sequences that decode.
  struct Batch {
    std::int64_t sequences = 0;
    double context = 0;  // mean number of tokens of a sequence before the one it decodes
  };

  void receive();
  void step(base::Ticks time);
  void run_chunks(const batching::EngineStep& step);
  void show_chunks(const MixedSeconds& seconds, const Batch& decoding, const Prefill& prefill, std::size_t sequences,
                   base::Ticks end);
  void run_decode_steps(const batching::EngineStep& step, base::Ticks time);
  std::int64_t steps_until(base::Ticks time, const Batch& decoding, std::int64_t most) const;
  bool end_finished();

  Batch batch_of(const batching::EngineStep& step) const;
  Prefill prefill_of(const batching::EngineStep& step) const;
  void show_memory(base::Ticks time, std::int64_t blocks);
  void show_span(base::Ticks end, BarKind bar_kind, std::int64_t amount, base::Ticks launch);

  InstanceLimits limits_;
  StepClock* clock_;
  std::int32_t task_;
  base::Ticks now_;
  base::Ticks shown_until_;
  std::deque<std::pair<base::Ticks, Sequence>> arrivals_;
  std::vector<Member> members_;
  batching::EngineScheduler engine_;
  InstanceLog log_;
};

}  // namespace dovetail::simulate
