#include "runtime/run/stub_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "answer/schedules/input_files.h"
#include "answer/schedules/programs.h"
#include "base/file.h"
#include "cli/output.h"
#include "execute/waiting.h"
#include "pipeline/schedule/evaluate.h"
#include "runtime/ranks/gloo_transport.h"
#include "runtime/ranks/run_rank.h"
#include "runtime/run/phase_programs.h"

namespace dovetail::runtime {
namespace {

using base::Result;
using base::Status;
using execute::ReplayTimes;
using pipeline::Program;
using pipeline::Schedule;
using transport::Clock;

/// Message numbers of the barrier, and of the exchange of times after it.
constexpr std::uint32_t begin_number = 0;
constexpr std::uint32_t times_number = 1;

Result<Schedule> read_schedule(const StubArguments& arguments, int ranks) {
  const answer::Callbacks callbacks{.on_read = {}, .on_label = {}, .on_figures = {}, .on_work = {}, .on_note = {}};
  DOVETAIL_TRY(answer::LoadedSchedule loaded,
               answer::load_valid_schedule({arguments.schedule}, std::nullopt, std::nullopt, callbacks));
  const int devices = loaded.file.schedule.problem.devices;
  if (devices == ranks) return std::move(loaded.file.schedule);
  return base::Error{
      base::Failure::bad_input, arguments.schedule, 0, 0,
      fmt::format("the schedule has {} devices, but there are {} ranks; start one rank per device", devices, ranks)};
}

/// Returns the latest end of an op, in seconds.
double measured_makespan(const std::vector<Program>& programs, const ReplayTimes& times) {
  base::Ticks end;
  for (std::size_t rank = 0; rank < times.size(); ++rank)
    for (std::size_t i = 0; i < times[rank].size(); ++i)
      if (programs[rank].code[i].code == pipeline::Code::run) end = std::max(end, times[rank][i].end);
  return base::seconds_of_ticks(end);
}

std::string trace_to_json(const ReplayTimes& times) {
  std::string text = "[";
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    text += rank == 0 ? "\n[" : ",\n[";
    for (std::size_t i = 0; i < times[rank].size(); ++i)
      text += fmt::format("{}[{}, {}]", i == 0 ? "" : ", ", times[rank][i].begin.count(), times[rank][i].end.count());
    text += "]";
  }
  return text + "\n]\n";
}

Status report(const StubArguments& arguments, const Schedule& schedule, const std::vector<Program>& programs,
              const ReplayTimes& times) {
  const std::chrono::duration<double> tick = arguments.tick;
  const double predicted = static_cast<double>(pipeline::evaluate(schedule).evaluation.makespan.count()) * tick.count();
  const double measured = measured_makespan(programs, times);
  cli::print(fmt::format("{} ranks: predicted {:.3f} s, measured {:.3f} s ({:+.1f}%)\n", programs.size(), predicted,
                         measured, 100 * (measured / predicted - 1)));
  return arguments.trace ? base::write_file(*arguments.trace, trace_to_json(times)) : Status();
}

Status replay(const StubArguments& arguments, RankSession& session) {
  const RankPlace& place = session.place;
  DOVETAIL_TRY(const Schedule schedule, read_schedule(arguments, place.ranks));
  DOVETAIL_TRY(const std::vector<Program> programs, answer::programs_of(schedule));
  const Program& own = programs[static_cast<std::size_t>(place.rank)];
  DOVETAIL_TRY(const std::unique_ptr<transport::Transport> transport,
               connect_gloo(place, session.store, session.monitor, Clock::now() + arguments.timeout));
  const execute::WaitingWorkers workers(schedule.problem, pipeline::rank_per_device(schedule.problem), own,
                                        {arguments.tick, arguments.message_bytes});
  DOVETAIL_CHECK(transport::barrier(*transport, begin_number, Clock::now() + arguments.timeout));
  session.monitor.note({"the replay"});
  const Clock::time_point begin = Clock::now();
  DOVETAIL_TRY(const execute::Trace trace, execute::run(own, workers.workers(), *transport, {arguments.timeout, 0}));
  DOVETAIL_TRY(const ReplayTimes times,
               gather_times(*transport, programs, trace, begin, times_number, Clock::now() + arguments.timeout));
  return place.rank == 0 ? report(arguments, schedule, programs, times) : Status();
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
