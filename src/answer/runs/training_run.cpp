#include "answer/runs/training_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "answer/plans/job_input.h"
#include "answer/runs/chosen_plan.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/text.h"
#include "base/file.h"
#include "cluster/cluster.h"
#include "llm/counts.h"
#include "plan/framework.h"
#include "trainers/import_run.h"

namespace dovetail::answer {
namespace {

namespace fs = std::filesystem;

base::Status check_fusion(std::optional<study::FusionMode> fuse, const plan::Job& job) {
  if (!fuse) return {};
  if (study::fuses_training(*fuse))
    if (const auto rejection = plan::find_training_rejection(job)) return base::bad_input("--fuse: " + *rejection);
  if (study::fuses_generation(*fuse))
    if (const auto rejection = plan::find_generation_rejection(job)) return base::bad_input("--fuse: " + *rejection);
  return {};
}

/// Finds the plan: the requested one, or one in the folder of the resumed run or of the job; nullopt if it must be
/// searched.
std::optional<Input> plan_input(const TrainingRunRequest& request, const std::string& folder) {
  if (request.plan) return request.plan;
  for (const std::string& place : {request.resume ? folder : std::string(), request.job.path})
    if (const auto file = control::plan_file_in(place)) return Input{*file};
  return std::nullopt;
}

/// Adds a hint to an error that may come from resuming on other devices.
base::Error of_other_devices(base::Error error, const TrainingRunRequest& request) {
  if (request.resume && !request.plan && !request.ranks)
    error.message += "; if the run used another number of ranks, give that number or a new one with --ranks";
  return error;
}

/// Reads the plan of the answer's job, or searches for one.
base::Status find_plan(const TrainingRunRequest& request, const Callbacks& callbacks, TrainingRunAnswer& answer) {
  const parallel::Cancellation stop(callbacks.cancellation, request.time_limit);
  const Input job{answer.run.path, answer.run.text};
  const std::optional<Input> input = plan_input(request, answer.folder);
  plan::Job planned = answer.run.job;
  if (!input && !request.placements.empty()) planned.placements = request.placements;
  DOVETAIL_TRY(const predict::Scenario scenario, scenario_for(planned, job, &stop));
  LoadedJob loaded{scenario, std::nullopt};
  if (input) {
    base::Result<plan::Plan> read = read_plan(*input, scenario, callbacks);
    const bool may_search = !request.plan && request.ranks;
    if (!read.ok() && !may_search) return of_other_devices(std::move(read).error(), request);
    if (read.ok()) {
      loaded.plan = std::move(*read);
      answer.plan_path = input->path;
    } else {
      notify_note(callbacks, "searching for another plan, because the existing one cannot be used: " +
                                 base::to_text(read.error()));
    }
  }
  ChosenPlanOptions options;
  options.fuse = request.fuse;
  options.search.budget.iterations = request.plan_iterations;
  options.search.budget.time_limit = request.time_limit;
  DOVETAIL_TRY(ChosenPlan chosen, choose_plan(options, job, loaded, false, callbacks));
  for (const std::string& note : chosen.notes) notify_note(callbacks, note);
  answer.plan = std::move(chosen.plan);
  answer.estimate = predict::estimate(scenario, answer.plan);
  return {};
}

std::string length_text(const TrainingRunAnswer& answer) {
  const control::RunSettings& settings = answer.run.settings;
  if (answer.iterations) return counted(*answer.iterations, "iteration");
  if (settings.iterations) return counted(*settings.iterations, "iteration");
  return counted(settings.epochs.value_or(1), "epoch");
}

/// Initial weights of a role.
std::string begin_text(const control::RunModel& model) {
  if (model.checkpoint) return model.checkpoint->folder();
  return model.like.empty() ? "random weights" : fmt::format("copy of {}", model.like);
}

Table model_table(const TrainingRunAnswer& answer) {
  Table table;
  table.columns = {{"model", Align::left}, {"parameters"}, {"trained", Align::left}, {"starts from", Align::left}};
  for (const control::RunModel& model : answer.models)
    table.rows.push_back({model.role,
                          fmt::format("{:.2f}M", static_cast<double>(llm::count_parameters(model.shape).all) / 1e6),
                          model.trained ? "yes" : "no", begin_text(model)});
  return table;
}

/// Max memory that any task needs on a device.
std::int64_t needed_bytes(const predict::Estimate& estimate) {
  std::int64_t most = 0;
  for (const predict::TaskMemory& memory : estimate.memory) most = std::max(most, memory.needed());
  return most;
}

}  // namespace

base::Result<control::RunJob> read_run_job(const Input& job, std::optional<int> ranks) {
  if (is_standard_input(job))
    return base::bad_input("the job must be a file or a folder; standard input is not accepted");
  const std::string file = trainers::file_of(job.path);
  const auto text = base::read_file(file);
  if (text.ok() && trainers::is_foreign(job.path, *text)) {
    return base::Error{base::Failure::bad_input, base::display_path(file), 0, 0,
                       "this is the configuration of another trainer; give a job file with a `train` section"};
  }
  return control::read_run_job(job.path, ranks);
}

base::Error nccl_without_gpus() { return base::bad_input("--carrier nccl needs GPUs; use gloo, or --device cuda"); }

base::Result<TrainingRunAnswer> answer_to(const TrainingRunRequest& request, const Callbacks& callbacks) {
  DOVETAIL_TRY(control::RunJob run, read_run_job(request.job, request.ranks));
  if (request.carrier == transport::CarrierKind::nccl && request.device == RunDevice::cpu) return nccl_without_gpus();
  notify_label(callbacks, run.job.name);
  DOVETAIL_CHECK(notify_read(callbacks));
  DOVETAIL_CHECK(check_fusion(request.fuse, run.job));
  const std::string folder = request.folder.empty() ? (fs::path("runs") / run.job.name).string() : request.folder;
  DOVETAIL_CHECK(control::check_run_folder(folder, request.resume));
  notify_work(callbacks, "reading models and data");
  DOVETAIL_TRY(control::CheckedRun checked, control::check_run(run, callbacks.cancellation));
  TrainingRunAnswer answer{.run = std::move(run),
                           .models = std::move(checked.models),
                           .samples = checked.inputs.train.size(),
                           .validation = checked.inputs.validation.size(),
                           .folder = folder,
                           .iterations = request.iterations,
                           .plan_path = {},
                           .plan = {},
                           .estimate = {}};
  notify_work(callbacks, "choosing a plan");
  DOVETAIL_CHECK(find_plan(request, callbacks, answer));
  answer.outcome = unless_interrupted(callbacks, Outcome::done);
  return answer;
}

Sections sections(const TrainingRunAnswer& answer) {
  const control::RunData& data = answer.run.settings.data;
  std::string text = fmt::format("data: {} samples from {}", answer.samples, data.train);
  if (answer.validation > 0) text += fmt::format(", {} for validation from {}", answer.validation, data.validation);
  text += fmt::format("\nplan: {}, {}: predicted {} per iteration, peak memory {} per device\n",
                      answer.plan_path.empty() ? "searched" : answer.plan_path, answer.plan.placement,
                      seconds_text(answer.estimate.iteration_seconds), gibibytes(needed_bytes(answer.estimate)));
  return fmt::format("{}; {}\n", job_line(answer.run.job), length_text(answer)) + Sections(model_table(answer)) +
         Sections(text);
}

}  // namespace dovetail::answer
