#include "answer/runs/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "answer/words/amounts.h"
#include "answer/words/text.h"
#include "pipeline/program/compile.h"

namespace dovetail::answer {
namespace {

using base::Result;
using base::Ticks;
using pipeline::Schedule;

constexpr double default_tick_seconds = 0.02;
constexpr double default_timeout_seconds = 60;
constexpr double ns_per_second = 1e9;

/// Shortest duration of any forward or backward.
Ticks min_pass(const pipeline::Problem& problem) {
  Ticks shortest = Ticks::max();
  for (const pipeline::Model& model : problem.models)
    pipeline::for_each_duration(model, [&](const std::vector<Ticks>& times, const pipeline::OpTraits& traits) {
      if (traits.phase == pipeline::OpPhase::step) return;
      for (const Ticks time : times) shortest = std::min(shortest, time);
    });
  return shortest;
}

double ns_per_tick(const pipeline::Problem& problem, std::optional<double> tick) {
  if (problem.time_unit == base::TimeUnit::tick) return tick.value_or(default_tick_seconds) * ns_per_second;
  return tick ? *tick * ns_per_second / static_cast<double>(min_pass(problem).count()) : 1;
}

Result<execute::ReplayTimes> run_ranks(const ReplayRequest& request, const Schedule& schedule,
                                       const pipeline::Placement& placement,
                                       const std::vector<pipeline::Program>& programs, const Watch& watch) {
  tell_work(watch, fmt::format("replaying {}, {}", counted(placement.ranks, "rank"),
                               seconds_text(base::seconds_of_ticks(schedule.claims.makespan.value()))));
  if (request.transport == ReplayTransport::gloo) return request.launch(schedule, request.run);
  execute::ReplayOptions options;
  options.message_bytes = request.run.message_bytes;
  options.timeout = std::chrono::duration_cast<transport::Clock::duration>(
      std::chrono::duration<double>(request.run.timeout.value_or(default_timeout_seconds)));
  options.cancellation = watch.cancellation;
  return execute::replay(schedule, placement, programs, options);
}

/// Checks that times from other processes match the programs.
base::Status check_times(const std::vector<pipeline::Program>& programs, const execute::ReplayTimes& times) {
  bool is_of_programs = times.size() == programs.size();
  for (std::size_t rank = 0; is_of_programs && rank < times.size(); ++rank)
    is_of_programs = times[rank].size() == programs[rank].code.size();
  if (is_of_programs) return {};
  return base::Error{
      base::Failure::io, "", 0, 0,
      "the trace written by the ranks does not match the programs; expected a time for each instruction of each rank"};
}

}  // namespace

Ticks makespan_of(const ReplayAnswer& answer) {
  Ticks makespan;
  for (const auto& device : answer.source.schedule.devices)
    for (const pipeline::ScheduledOp& op : device) makespan = std::max(makespan, op.end);
  return makespan;
}

Result<ReplayAnswer> ask(const ReplayRequest& request, const Watch& watch) {
  DOVETAIL_ASSERT(request.transport == ReplayTransport::threads || request.launch);
  ReplayAnswer answer;
  answer.transport = request.transport;
  DOVETAIL_TRY(answer.source, read_replay_source(request.input, request.search, watch));
  tell_label(watch, answer.source.name);
  const pipeline::Problem& problem = answer.source.schedule.problem;
  answer.ns_per_tick = ns_per_tick(problem, request.tick);
  DOVETAIL_TRY(answer.schedule, execute::as_replayed(answer.source.schedule, answer.ns_per_tick));
  const pipeline::Placement placement = pipeline::rank_per_device(problem);
  DOVETAIL_TRY(const std::vector<pipeline::Program> programs, pipeline::sound_programs(answer.schedule, placement));
  DOVETAIL_TRY(const execute::ReplayTimes times, run_ranks(request, answer.schedule, placement, programs, watch));
  DOVETAIL_CHECK(check_times(programs, times));
  answer.ops = execute::replayed_ops(answer.schedule, placement, programs, times);
  answer.figures = execute::figures_of(answer.ops);
  return answer;
}

}  // namespace dovetail::answer
