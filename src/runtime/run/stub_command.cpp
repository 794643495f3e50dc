#include "runtime/run/stub_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/schedules/programs.h"
#include "answer/schedules/schedule_input.h"
#include "base/file.h"
#include "cli/output.h"
#include "execute/waiting.h"
#include "pipeline/schedule/evaluate.h"
#include "runtime/ranks/gloo_transport.h"
#include "runtime/ranks/run_rank.h"

namespace dovetail::runtime {
namespace {

using base::Result;
using base::Status;
using pipeline::Program;
using pipeline::Schedule;
using transport::Address;
using transport::Clock;
using transport::Lane;

/// When an instruction began and ended, in ns from the rank's barrier on.
using Span = std::array<std::int64_t, 2>;
/// [rank][instruction]
using Spans = std::vector<std::vector<Span>>;

/// Of the message with a rank's spans. Barriers have smaller numbers.
constexpr std::uint32_t spans_number = 1U << 28;

Result<Schedule> read_schedule(const StubArguments& arguments, int ranks) {
  const answer::Watch watch{.on_read = {}, .on_label = {}, .on_figures = {}, .on_work = {}, .on_note = {}};
  DOVETAIL_TRY(answer::LoadedSchedule loaded,
               answer::load_valid_schedule({arguments.schedule}, std::nullopt, std::nullopt, watch));
  const int devices = loaded.file.schedule.problem.devices;
  if (devices == ranks) return std::move(loaded.file.schedule);
  return base::Error{
      base::Failure::bad_input, arguments.schedule, 0, 0,
      fmt::format("the schedule has {} devices, and there are {} ranks; accepted: a rank for each device", devices,
                  ranks)};
}

std::vector<Span> spans_of(const execute::Trace& trace, Clock::time_point begin) {
  const auto ns = [begin](Clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time - begin).count();
  };
  std::vector<Span> spans;
  for (const execute::Interval& interval : trace.instructions) spans.push_back({ns(interval.begin), ns(interval.end)});
  return spans;
}

/// The bytes of spans, which keep themselves.
transport::Buffer buffer_of(std::vector<Span>& spans) {
  return {reinterpret_cast<std::byte*>(spans.data()), spans.size() * sizeof(Span), nullptr};
}

/// Rank 0 gets the spans of all; the others send theirs.
Result<Spans> gather(transport::Transport& transport, const std::vector<Program>& programs, std::vector<Span> own,
                     transport::Deadline deadline) {
  Spans all(programs.size());
  all[static_cast<std::size_t>(transport.rank())] = std::move(own);
  if (transport.rank() != 0) {
    transport.send({0, Lane::control, spans_number}, buffer_of(all[static_cast<std::size_t>(transport.rank())]));
    DOVETAIL_CHECK(transport.flush(Lane::control, deadline));
    return all;
  }
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    all[rank].resize(programs[rank].code.size());
    transport.receive({static_cast<int>(rank), Lane::control, spans_number}, buffer_of(all[rank]));
  }
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    DOVETAIL_CHECK(transport.wait({static_cast<int>(rank), Lane::control, spans_number}, deadline));
  return all;
}

/// The latest end of an op, in seconds.
double measured_makespan(const std::vector<Program>& programs, const Spans& spans) {
  std::int64_t end = 0;
  for (std::size_t rank = 0; rank < spans.size(); ++rank)
    for (std::size_t i = 0; i < spans[rank].size(); ++i)
      if (programs[rank].code[i].code == pipeline::Code::run) end = std::max(end, spans[rank][i][1]);
  return static_cast<double>(end) / 1e9;
}

std::string trace_to_json(const Spans& spans) {
  std::string text = "[";
  for (std::size_t rank = 0; rank < spans.size(); ++rank) {
    text += rank == 0 ? "\n[" : ",\n[";
    for (std::size_t i = 0; i < spans[rank].size(); ++i)
      text += fmt::format("{}[{}, {}]", i == 0 ? "" : ", ", spans[rank][i][0], spans[rank][i][1]);
    text += "]";
  }
  return text + "\n]\n";
}

Status report(const StubArguments& arguments, const Schedule& schedule, const std::vector<Program>& programs,
              const Spans& spans) {
  const std::chrono::duration<double> tick = arguments.tick;
  const double predicted = static_cast<double>(pipeline::evaluate(schedule).evaluation.makespan.count()) * tick.count();
  const double measured = measured_makespan(programs, spans);
  cli::print(fmt::format("{} ranks: predicted {:.3f} s, measured {:.3f} s ({:+.1f}%)\n", programs.size(), predicted,
                         measured, 100 * (measured / predicted - 1)));
  return arguments.trace ? base::write_file(*arguments.trace, trace_to_json(spans)) : Status();
}

Status replay(const StubArguments& arguments, RankSession& session) {
  const RankPlace& place = session.place;
  DOVETAIL_TRY(const Schedule schedule, read_schedule(arguments, place.ranks));
  DOVETAIL_TRY(const std::vector<Program> programs, answer::programs_of(schedule));
  const Program& own = programs[static_cast<std::size_t>(place.rank)];
  DOVETAIL_TRY(const std::unique_ptr<transport::Transport> transport,
               connect_gloo(place, session.store, session.watch, Clock::now() + arguments.timeout));
  const execute::WaitingWorkers workers(schedule.problem, pipeline::rank_per_device(schedule.problem), own,
                                        {arguments.tick, arguments.message_bytes});
  DOVETAIL_CHECK(transport::barrier(*transport, 0, Clock::now() + arguments.timeout));
  session.watch.note({"the replay"});
  const Clock::time_point begin = Clock::now();
  DOVETAIL_TRY(const execute::Trace trace, execute::run(own, workers.workers(), *transport, {arguments.timeout, 0}));
  DOVETAIL_TRY(const Spans spans,
               gather(*transport, programs, spans_of(trace, begin), Clock::now() + arguments.timeout));
  return place.rank == 0 ? report(arguments, schedule, programs, spans) : Status();
}

}  // namespace

Status check_stub(const StubArguments& arguments, int ranks) {
  DOVETAIL_TRY(const Schedule schedule, read_schedule(arguments, ranks));
  const auto programs = answer::programs_of(schedule);
  return programs.ok() ? Status() : Status(programs.error());
}

int run_stub(const StubArguments& arguments) {
  return run_rank("stub", arguments.timeout, [&](RankSession& session) { return replay(arguments, session); });
}

}  // namespace dovetail::runtime
