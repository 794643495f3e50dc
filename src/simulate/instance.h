// One instance of a generation engine, from event to event: continuous batching over a paged cache of keys and values.
//
// An instance is one data-parallel replica of the actor's generate layout. batching/engine_scheduler.h has the rules of
// its batches; here are the clock, the ends of sequences, and the log:
// - A sequence of prompt p and response r decodes r steps; the first has p tokens before it (as in cost/generation.h).
// One of r = 0 ends
//   with its prefill.
// - Where lengths are predicted, whoever has the longest response enters first.
// - Between two events (a sequence ends, enters, is preempted or arrives) all decode steps are one stretch of time,
// whose seconds are a sum
//   over StepClock's pieces.
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
  bool longest_first = false;
  double token_bytes = 0;  ///< keys and values of a token, on each device
};

/// A sample on an instance: what the engine knows of it, and what only the simulator does. An instance names it (`id`)
/// itself.
struct Sequence : batching::Sequence {
  std::size_t sample = 0;
  std::int64_t response = 0;
};

/// What an instance did.
struct InstanceLog {
  std::vector<std::pair<std::size_t, base::Ticks>> finished;  ///< sample and time, in order of time
  std::vector<Span> spans;                                    ///< in order; gaps where nothing ran
  /// Keys and values on each device from that time on. Within a stretch they grow step by step: at most 16 steps are
  /// shown, each as high as its end.
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
  Instance(const InstanceLimits& limits, StepClock& clock, std::int32_t task)
      : limits_(limits), clock_(&clock), task_(task), engine_(limits) {}

  /// A sequence that is there from `time` on. REQUIRES: not before that of an earlier call.
  void arrive(base::Ticks time, const Sequence& sequence);
  /// Goes on until the first end of a step that is not before `time`, or until nothing is left.
  void run_until(base::Ticks time);
  /// The end of the last step.
  base::Ticks now() const { return now_; }
  /// How many sequences have arrived, or will, and have not ended.
  std::size_t unfinished() const { return arrivals_.size() + engine_.unfinished(); }
  /// Takes all of them away: those that run first, in the order of their entry. Their `cached` says whether keys and
  /// values of all their tokens are there.
  std::vector<Sequence> leave();

  const InstanceLog& log() const { return log_; }

 private:
  /// A sequence that has arrived: [its id].
  struct Member {
    std::size_t sample = 0;
    std::int64_t response = 0;
  };
  /// What a step computes of prompts.
  struct Prefill {
    llm::Tokens tokens;      // all of them
    std::int64_t first = 0;  // of these: computed for the first time
    std::int64_t again = 0;
  };
  /// Running sequences that decode, and the tokens before each on average.
  struct Batch {
    std::int64_t sequences = 0;
    double context = 0;
  };

  void receive();
  void step(base::Ticks time);
  void play_chunks(const batching::EngineStep& step);
  void show_chunks(const MixedSeconds& seconds, const Batch& decoding, const Prefill& prefill, std::size_t sequences,
                   base::Ticks end);
  void play_stretch(const batching::EngineStep& step, base::Ticks time);
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
