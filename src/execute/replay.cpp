#include "execute/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "base/assert.h"
#include "execute/waiting.h"
#include "pipeline/schedule/evaluate.h"
#include "transport/threads.h"

namespace dovetail::execute {
namespace {

using namespace std::chrono_literals;
using base::Result;
using base::Ticks;
using pipeline::Program;
using pipeline::Schedule;

/// Interval at which a replay checks for cancellation.
constexpr Clock::duration cancellation_interval = 50ms;

Ticks ns_of(Clock::duration time) { return Ticks(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()); }

/// Scales times. Zero stays zero and no other time becomes zero. A time too long for a problem stays too long.
void scale(std::vector<Ticks>& times, double factor) {
  constexpr double too_long = 2.0 * base::max_time;
  for (Ticks& time : times)
    if (time > Ticks())
      time = Ticks(std::llround(std::clamp(static_cast<double>(time.count()) * factor, 1.0, too_long)));
}

/// One rank's thread and its result.
struct RankRun {
  std::thread thread;
  Result<Trace> trace = Trace{};
};

/// Counts ranks that are done.
class Done {
 public:
  void count() {
    const std::lock_guard lock(mutex_);
    ++ranks_;
    changed_.notify_all();
  }
  /// Waits until `ranks` ranks are done. Returns false if `time` passes first.
  bool wait(std::size_t ranks, Clock::duration time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return ranks_ == ranks; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ranks_ = 0;
};

}  // namespace

std::vector<Span> spans_of(const Trace& trace, Clock::time_point start) {
  std::vector<Span> spans;
  spans.reserve(trace.instructions.size());
  for (const Interval& interval : trace.instructions)
    spans.push_back({ns_of(interval.begin - start), ns_of(interval.end - start)});
  return spans;
}

Result<Schedule> as_replayed(const Schedule& schedule, double ns_per_tick) {
  pipeline::Problem problem = schedule.problem;
  problem.time_unit = base::TimeUnit::ns;
  problem.capacity.reset();
  for (pipeline::Model& model : problem.models) {
    pipeline::for_each_duration(model, [&](std::vector<Ticks>& times, const auto&) { scale(times, ns_per_tick); });
    scale(model.transfer_forward, ns_per_tick);
    scale(model.transfer_backward, ns_per_tick);
  }
  Result<Schedule> replayed = pipeline::retimed(schedule, problem);
  if (replayed.ok()) return replayed;
  return base::bad_input(
      fmt::format("the schedule cannot be replayed at {:g} ns per tick: {}", ns_per_tick, replayed.error().message));
}

Result<ReplayTimes> replay(const Schedule& schedule, const pipeline::Placement& placement,
                           const std::vector<Program>& programs, const ReplayOptions& options) {
  if (placement.ranks > max_replay_threads)
    return base::bad_input(
        fmt::format("a replay uses one thread per rank, and this placement has {} ranks; accepted: at most {}",
                    placement.ranks, max_replay_threads));
  const RunOptions run_options{options.timeout + std::chrono::nanoseconds(schedule.claims.makespan.value().count()), 0};
  const auto ends = transport::connect_threads(placement.ranks);
  std::vector<RankRun> ranks(programs.size());
  std::promise<Clock::time_point> promise;
  const std::shared_future<Clock::time_point> begin = promise.get_future().share();
  Done done;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    ranks[r].thread = std::thread([&, r] {
      const WaitingWorkers workers(schedule.problem, placement, programs[r], {1ns, options.message_bytes});
      std::this_thread::sleep_until(begin.get());
      ranks[r].trace = run(programs[r], workers.workers(), *ends[r], run_options);
      done.count();
    });
  // Leave all threads enough time to wake up from the promise.
  const Clock::time_point start = Clock::now() + 5ms + placement.ranks * 100us;
  promise.set_value(start);
  while (!done.wait(ranks.size(), cancellation_interval))
    if (parallel::is_requested(options.cancellation))
      ends.front()->fail({base::Failure::interrupted, "", 0, 0, "the replay was stopped before it finished"});
  ReplayTimes times;
  for (RankRun& rank : ranks) rank.thread.join();
  for (const RankRun& rank : ranks) {
    if (!rank.trace.ok()) return rank.trace.error();
    times.push_back(spans_of(*rank.trace, start));
  }
  return times;
}

}  // namespace dovetail::execute
