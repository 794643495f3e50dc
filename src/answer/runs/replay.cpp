#include "answer/runs/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/question/json.h"
#include "answer/runs/chosen_plan.h"
#include "answer/schedules/input_files.h"
#include "answer/schedules/schedule.h"
#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "control/run/run_checks.h"
#include "pipeline/program/compile.h"
#include "pipeline/schedule/evaluate.h"
#include "predict/closed_form/intra_stage.h"
#include "predict/closed_form/training_phase.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::answer {
namespace {

namespace fs = std::filesystem;
using base::Result;
using base::Status;
using pipeline::Schedule;

Status check_no_plan(const ReplaySearch& search, ReplaySourceKind kind) {
  const char* const option = search.plan ? "--plan" : search.fuse ? "--fuse" : nullptr;
  if (option == nullptr) return {};
  return base::bad_input(fmt::format("{} applies to jobs only, but the input is a {}", option, base::enum_name(kind)));
}

Result<Schedule> schedule_of_problem(const Input& input, const ReplaySearch& search, const Callbacks& callbacks) {
  ScheduleRequest request;
  request.problem = input;
  request.search.budget.iterations = search.iterations;
  request.search.budget.time_limit = search.time_limit;
  DOVETAIL_TRY(const ScheduleAnswer answer, answer_to(request, callbacks));
  if (answer.outcome == Outcome::infeasible || !answer.solved)
    return base::Error{base::Failure::infeasible, name_of(input), 0, 0,
                       "no schedule found fits in memory; see dovetail schedule"};
  if (answer.outcome == Outcome::interrupted)
    return base::Error{base::Failure::interrupted, "", 0, 0, "the search was stopped before the replay"};
  return answer.solved->schedule;
}

std::vector<std::size_t> train_tasks(const plan::Job& job) {
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
    if (job.workflow.tasks[task].kind == workflow::TaskKind::train) tasks.push_back(task);
  return tasks;
}

Result<Schedule> training_of(const predict::Scenario& scenario, const plan::Plan& plan) {
  if (plan.fusion.training) {
    const predict::KeptSchedule fused = predict::intra_stage(scenario, plan).schedule;
    if (fused == nullptr)
      return base::bad_input("the fused training is too large or too long for a schedule; use --fuse none");
    return *fused;
  }
  const std::vector<std::size_t> tasks = train_tasks(scenario.job);
  const auto train = [&](std::size_t i) { return predict::TrainTask{tasks[i], plan.tasks[tasks[i]]}; };
  if (tasks.empty()) return base::bad_input("the job has no train task; give a job with one");
  if (tasks.size() == 1) return predict::training_schedule(scenario, train(0));
  if (tasks.size() == 2) return predict::serial_training_schedule(scenario, train(0), train(1));
  return base::bad_input(
      fmt::format("the job has {} train tasks; accepted: one, or two that can share a schedule", tasks.size()));
}

Result<Schedule> schedule_of_job(const Input& job, const ReplaySearch& search, const Callbacks& callbacks) {
  const parallel::Cancellation stop(callbacks.cancellation, search.time_limit);
  DOVETAIL_TRY(LoadedJob loaded, load_job(job, search.plan, callbacks, &stop));
  DOVETAIL_CHECK(notify_read(callbacks));
  ChosenPlanOptions options;
  options.fuse = search.fuse;
  options.search.budget.iterations = search.iterations;
  options.search.budget.time_limit = search.time_limit;
  DOVETAIL_TRY(const ChosenPlan chosen, choose_plan(options, job, loaded, false, callbacks));
  for (const std::string& note : chosen.notes) notify_note(callbacks, note);
  Result<Schedule> schedule = training_of(loaded.scenario, chosen.plan);
  if (!schedule.ok()) return at_input(std::move(schedule).error(), job);
  return schedule;
}

/// Reads a schedule file. It must be valid and have times.
Result<Schedule> schedule_in_file(const Input& input, const Callbacks& callbacks) {
  const ScheduleText text{input, input.text.value(), format_of_content(*input.text)};
  Result<LoadedSchedule> loaded = load_valid_schedule(text, std::nullopt, callbacks);
  if (!loaded.ok()) {
    base::Error error = std::move(loaded).error();
    if (error.failure == base::Failure::invalid) {
      error.failure = base::Failure::bad_input;
      error.message += "; --stub needs a schedule that dovetail check accepts";
    }
    return error;
  }
  if (loaded->format == ScheduleFormat::csv)
    return base::Error{
        base::Failure::bad_input, loaded->path, 0, 0,
        "a CSV holds the order of ops but no times; convert it first, with dovetail convert --problem PROBLEM"};
  DOVETAIL_CHECK(notify_read(callbacks));
  return std::move(loaded->file.schedule);
}

using base::Ticks;

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
                                       const std::vector<pipeline::Program>& programs, const Callbacks& callbacks) {
  notify_work(callbacks, fmt::format("replaying {}, {}", counted(placement.ranks, "rank"),
                                     seconds_text(base::seconds_of_ticks(schedule.claims.makespan.value()))));
  if (request.transport == ReplayTransport::gloo) return request.launch(schedule, request.run);
  execute::ReplayOptions options;
  options.message_bytes = request.run.message_bytes;
  options.timeout = std::chrono::duration_cast<transport::Clock::duration>(
      std::chrono::duration<double>(request.run.timeout.value_or(default_timeout_seconds)));
  options.cancellation = callbacks.cancellation;
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

Json json_of(base::Ticks ns) { return json_simulated(base::seconds_of_ticks(ns)); }

Json latest_json(const ReplayAnswer& answer) {
  const execute::ReplayedOp& latest = answer.figures.latest;
  return {{"op", pipeline::describe(answer.schedule.problem, latest.label)},
          {"rank", latest.rank},
          {"planned_end_seconds", json_of(latest.planned.end)},
          {"measured_end_seconds", json_of(latest.measured.end)}};
}

std::string ns_text(base::Ticks ns) { return seconds_text(base::seconds_of_ticks(ns)); }

/// Time scale of the replay relative to the source.
std::string speed_text(const ReplayAnswer& answer) {
  if (answer.source.schedule.problem.time_unit == base::TimeUnit::tick)
    return fmt::format("1 tick = {}", seconds_text(answer.ns_per_tick * 1e-9));
  if (answer.ns_per_tick == 1) return "original durations";
  return fmt::format("{:.3g} times the original durations", answer.ns_per_tick);
}

std::string heading(const ReplayAnswer& answer) {
  std::size_t ops = 0;
  for (const auto& rank : answer.ops) ops += rank.size();
  std::string text = fmt::format("{}: {} as {}, {}; {}\n", answer.source.name,
                                 counted(static_cast<std::int64_t>(answer.ops.size()), "rank"),
                                 answer.transport == ReplayTransport::threads ? "threads" : "processes over Gloo",
                                 counted(static_cast<std::int64_t>(ops), "op"), speed_text(answer));
  const base::Ticks given = makespan_of(answer);
  const auto scaled = static_cast<std::int64_t>(static_cast<double>(given.count()) * answer.ns_per_tick);
  // Ignores differences that come from rounding to nanoseconds.
  if (scaled > answer.figures.planned.count() + answer.figures.planned.count() / 1'000'000)
    text += fmt::format("the schedule takes {}; without its idle waits, the same order takes {}\n",
                        ns_text(base::Ticks(scaled)), ns_text(answer.figures.planned));
  return text;
}

}  // namespace

Result<ReplaySource> read_replay_source(const Input& input, const ReplaySearch& search, const Callbacks& callbacks) {
  ReplaySource source{.name = name_of(input), .kind = ReplaySourceKind::job, .schedule = {}};
  // Standard input cannot be read again.
  Input read{control::job_file_of(input.path), input.text};
  if (const auto plan = control::plan_file_in(input.path); plan && !search.plan) {
    ReplaySearch planned = search;
    planned.plan = Input{*plan};
    DOVETAIL_TRY(source.schedule, schedule_of_job(read, planned, callbacks));
    return source;
  }
  std::error_code none;
  const bool is_document = is_standard_input(read) || fs::exists(read.path, none);
  if (is_document) {
    DOVETAIL_TRY(read.text, read_input(read));
  }
  const std::string format = read.text ? named_format(*read.text) : std::string();
  if (format == "dovetail/job") {
    DOVETAIL_TRY(source.schedule, schedule_of_job(read, search, callbacks));
    return source;
  }
  source.kind =
      !is_document || format == "dovetail/pipeline-problem" ? ReplaySourceKind::problem : ReplaySourceKind::schedule;
  DOVETAIL_CHECK(check_no_plan(search, source.kind));
  DOVETAIL_TRY(source.schedule, source.kind == ReplaySourceKind::problem ? schedule_of_problem(read, search, callbacks)
                                                                         : schedule_in_file(read, callbacks));
  return source;
}

Ticks makespan_of(const ReplayAnswer& answer) {
  Ticks makespan;
  for (const auto& device : answer.source.schedule.devices)
    for (const pipeline::ScheduledOp& op : device) makespan = std::max(makespan, op.end);
  return makespan;
}

Result<ReplayAnswer> answer_to(const ReplayRequest& request, const Callbacks& callbacks) {
  DOVETAIL_ASSERT(request.transport == ReplayTransport::threads || request.launch);
  ReplayAnswer answer;
  answer.transport = request.transport;
  DOVETAIL_TRY(answer.source, read_replay_source(request.input, request.search, callbacks));
  notify_label(callbacks, answer.source.name);
  const pipeline::Problem& problem = answer.source.schedule.problem;
  answer.ns_per_tick = ns_per_tick(problem, request.tick);
  DOVETAIL_TRY(answer.schedule, execute::as_replayed(answer.source.schedule, answer.ns_per_tick));
  const pipeline::Placement placement = pipeline::rank_per_device(problem);
  DOVETAIL_TRY(const std::vector<pipeline::Program> programs, pipeline::sound_programs(answer.schedule, placement));
  DOVETAIL_TRY(const execute::ReplayTimes times, run_ranks(request, answer.schedule, placement, programs, callbacks));
  DOVETAIL_CHECK(check_times(programs, times));
  answer.ops = execute::replayed_ops(answer.schedule, placement, programs, times);
  answer.figures = execute::figures_of(answer.ops);
  return answer;
}

std::string to_json(const ReplayAnswer& answer) {
  const pipeline::Schedule& source = answer.source.schedule;
  const execute::ReplayFigures& figures = answer.figures;
  std::size_t ops = 0;
  for (const auto& rank : answer.ops) ops += rank.size();
  const base::TimeUnit unit = source.problem.time_unit;
  return json_text(Json{{"format", "dovetail/replay@1"},
                        {"source", answer.source.name},
                        {"kind", base::enum_name(answer.source.kind)},
                        {"transport", base::enum_name(answer.transport)},
                        {"ranks", answer.ops.size()},
                        {"ops", ops},
                        {"time_unit", base::name_of(unit)},
                        {"schedule_makespan", json_time(makespan_of(answer), unit)},
                        {"seconds_per_unit", answer.ns_per_tick * static_cast<double>(base::ticks_per(unit)) * 1e-9},
                        {"planned_seconds", json_of(figures.planned)},
                        {"measured_seconds", json_of(figures.measured)},
                        {"difference", json_ratio(figures.ratio() - 1)},
                        {"executor_share", json_ratio(figures.executor_share())},
                        {"overlap", Json{{"planned_seconds", json_of(figures.planned_overlap)},
                                         {"measured_seconds", json_of(figures.measured_overlap)}}},
                        {"latest", latest_json(answer)}});
}

Sections sections(const ReplayAnswer& answer) {
  const execute::ReplayFigures& figures = answer.figures;
  Table table{{{"", Align::left}, {"schedule"}, {"measured"}, {"difference"}}, {}};
  table.rows.push_back({"makespan", ns_text(figures.planned), ns_text(figures.measured),
                        fmt::format("{:+.2f}%", 100 * (figures.ratio() - 1))});
  if (answer.schedule.problem.models.size() > 1)
    table.rows.push_back({"overlap of models", ns_text(figures.planned_overlap), ns_text(figures.measured_overlap),
                          difference_text(base::seconds_of_ticks(figures.measured_overlap),
                                          base::seconds_of_ticks(figures.planned_overlap))});
  const execute::ReplayedOp& latest = figures.latest;
  return heading(answer) + Sections("\n") + Sections(std::move(table)) +
         Sections(fmt::format(
             "\nexecutor overhead on the critical path: {}\nmost delayed op: {} on rank {}, {} later than scheduled\n",
             percent(figures.executor_share()), pipeline::describe(answer.schedule.problem, latest.label), latest.rank,
             ns_text(latest.lateness())));
}

timeline::Timeline planned_timeline(const ReplayAnswer& answer) {
  timeline::Timeline timeline = timeline::schedule_timeline(
      answer.schedule.problem, pipeline::evaluate(answer.schedule), answer.source.name + ", as scheduled");
  timeline.time_unit = base::TimeUnit::ms;
  return timeline;
}

timeline::Timeline measured_timeline(const ReplayAnswer& answer) {
  return execute::measured_timeline(answer.schedule.problem, answer.ops, answer.source.name + ", replayed");
}

}  // namespace dovetail::answer
