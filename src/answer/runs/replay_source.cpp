#include "answer/runs/replay_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/runs/played_plan.h"
#include "answer/schedules/file_kind.h"
#include "answer/schedules/schedule.h"
#include "answer/schedules/schedule_input.h"
#include "control/run/run_checks.h"
#include "predict/closed_form/intra_stage.h"
#include "predict/closed_form/training_phase.h"

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

Result<Schedule> schedule_of_problem(const Input& input, const ReplaySearch& search, const Watch& watch) {
  ScheduleRequest request;
  request.problem = input;
  request.search.budget.iterations = search.iterations;
  request.search.budget.time_limit = search.time_limit;
  DOVETAIL_TRY(const ScheduleAnswer answer, ask(request, watch));
  if (answer.outcome == Outcome::infeasible || !answer.solved)
    return base::Error{base::Failure::infeasible, name_of(input), 0, 0,
                       "no schedule fits the memory; see dovetail schedule"};
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
    if (fused == nullptr) return base::bad_input("the fused training exceeds the limits of schedules");
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

Result<Schedule> schedule_of_job(const Input& job, const ReplaySearch& search, const Watch& watch) {
  const parallel::Cancellation stop(watch.cancellation, search.time_limit);
  DOVETAIL_TRY(AskedJob asked, read_asked(job, search.plan, watch, &stop));
  DOVETAIL_CHECK(tell_read(watch));
  PlayOptions options;
  options.fuse = search.fuse;
  options.search.budget.iterations = search.iterations;
  options.search.budget.time_limit = search.time_limit;
  DOVETAIL_TRY(const ChosenPlan chosen, choose_plan(options, job, asked, false, watch));
  for (const std::string& note : chosen.notes) tell_note(watch, note);
  Result<Schedule> schedule = training_of(asked.scenario, chosen.plan);
  if (!schedule.ok()) return at_input(std::move(schedule).error(), job);
  return schedule;
}

/// Reads a schedule file. It must be valid and have times.
Result<Schedule> schedule_in_file(const Input& input, const Watch& watch) {
  const ScheduleText text{input, input.text.value(), format_of_content(*input.text)};
  Result<LoadedSchedule> loaded = load_valid_schedule(text, std::nullopt, watch);
  if (!loaded.ok()) {
    base::Error error = std::move(loaded).error();
    if (error.failure == base::Failure::invalid) {
      error.failure = base::Failure::bad_input;
      error.message += "; it must pass dovetail check";
    }
    return error;
  }
  if (loaded->format == ScheduleFormat::csv)
    return base::Error{base::Failure::bad_input, loaded->path, 0, 0,
                       "a CSV holds only an order, no times; combine it with its problem first (dovetail convert)"};
  DOVETAIL_CHECK(tell_read(watch));
  return std::move(loaded->file.schedule);
}

}  // namespace

Result<ReplaySource> read_replay_source(const Input& input, const ReplaySearch& search, const Watch& watch) {
  ReplaySource source{.name = name_of(input), .kind = ReplaySourceKind::job, .schedule = {}};
  // Standard input cannot be read again.
  Input read{control::job_file_of(input.path), input.text};
  if (const auto plan = control::plan_file_in(input.path); plan && !search.plan) {
    ReplaySearch planned = search;
    planned.plan = Input{*plan};
    DOVETAIL_TRY(source.schedule, schedule_of_job(read, planned, watch));
    return source;
  }
  std::error_code none;
  const bool is_document = is_standard_input(read) || fs::exists(read.path, none);
  if (is_document) {
    DOVETAIL_TRY(read.text, read_input(read));
  }
  const std::string format = read.text ? named_format(*read.text) : std::string();
  if (format == "dovetail/job") {
    DOVETAIL_TRY(source.schedule, schedule_of_job(read, search, watch));
    return source;
  }
  source.kind =
      !is_document || format == "dovetail/pipeline-problem" ? ReplaySourceKind::problem : ReplaySourceKind::schedule;
  DOVETAIL_CHECK(check_no_plan(search, source.kind));
  DOVETAIL_TRY(source.schedule, source.kind == ReplaySourceKind::problem ? schedule_of_problem(read, search, watch)
                                                                         : schedule_in_file(read, watch));
  return source;
}

}  // namespace dovetail::answer
