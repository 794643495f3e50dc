#include "runtime/run/run_command.h"

#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/plans/prediction.h"
#include "base/file.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/stopwatch.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/run_results.h"
#include "cli/terminal.h"
#include "control/reward_process.h"
#include "control/run/run.h"
#include "control/run/run_checks.h"
#include "llm/counts.h"
#include "plan/job_canonical.h"
#include "plan/job_folder.h"
#include "plan/plan_file.h"
#include "records/checkpoints.h"
#include "records/figure_table.h"
#include "records/folder_lock.h"
#include "records/progress.h"
#include "records/run_folder.h"
#include "runtime/model/threads.h"
#include "runtime/run/heap.h"
#include "runtime/run/torch_models.h"

namespace dovetail::runtime {
namespace {

namespace fs = std::filesystem;
using base::Result;
using base::Status;

/// What a run goes on under: anything else would give other numbers.
Result<std::string> run_hash(const control::RunJob& run, const plan::Plan& plan) {
  DOVETAIL_TRY(const std::string inputs, control::hash_of_inputs(run.settings));
  return base::sha256_hex(plan::job_hash(run.job) + control::hash_of(run.settings) + inputs +
                          plan::plan_to_json(plan, run.job));
}

Result<plan::Plan> read_plan_file(const std::string& path, const plan::Job& job) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  return plan::parse_plan(content, path, job);
}

std::optional<std::size_t> train_task_of(const plan::Job& job, const std::string& role) {
  const auto id = workflow::find_role(job.workflow, role);
  const auto task = job.workflow.trained_by[id->index()];
  return task ? std::optional(task->index()) : std::nullopt;
}

std::vector<RoleSetup> setups_of(std::vector<control::RunModel> models, const control::RunJob& run,
                                 const plan::Plan& plan) {
  std::vector<RoleSetup> setups;
  for (control::RunModel& model : models) {
    const auto id = static_cast<std::uint64_t>(workflow::find_role(run.job.workflow, model.role)->value);
    if (!model.checkpoint && model.like.empty())
      cli::print_note(fmt::format("{} begins with random weights", model.role));
    const auto task = train_task_of(run.job, model.role);
    setups.push_back({.name = std::move(model.role),
                      .shape = std::move(model.shape),
                      .computation = std::move(model.computation),
                      .checkpoint = std::move(model.checkpoint),
                      .like = std::move(model.like),
                      .folder = std::move(model.folder),
                      .seed = base::scatter(run.settings.seed) ^ id,
                      .trained = model.trained,
                      .recomputation = task ? plan.tasks[*task].layout.recomputation : llm::Recomputation::none});
  }
  return setups;
}

/// What keys and values of a generation may take: what the engine's share of memory leaves beside all models.
std::int64_t cache_bytes_of(const control::RunJob& run, const plan::Plan& plan) {
  double bytes = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i)
    if (run.job.workflow.tasks[i].kind == workflow::TaskKind::generate)
      bytes = static_cast<double>(run.job.cluster.groups.front().gpu.usable_memory) *
              plan.tasks[i].engine.memory_utilization;
  for (const llm::Transformer& model : run.job.models)
    bytes -= static_cast<double>(llm::count_parameters(model).all) * sizeof(float);
  return static_cast<std::int64_t>(std::max(0.0, bytes));
}

/// Takes the line of progress off a terminal.
void clear_line() {
  if (cli::stderr_is_terminal()) cli::rewrite_line("");
}

/// Shows how a run goes on, keeps it in its folder, and follows it in an account of memory.
class RunReporter {
 public:
  RunReporter(records::RunFolder& folder, const records::CheckpointPlace& place, const control::Models& models,
              std::int64_t iterations, MemoryAccount& account)
      : folder_(folder), place_(place), models_(models), iterations_(iterations), account_(account), line_("train") {}

  control::RunSink sink() {
    return {
        .on_metrics = [this](const control::Figures& figures) { return take_metrics(figures); },
        .on_evaluation = [this](const control::Figures& figures) { return take_evaluation(figures); },
        .on_samples = [this](
                          std::int64_t iteration,
                          std::span<const control::Sample> samples) { return folder_.add_samples(iteration, samples); },
        .on_progress = [this](const control::RunProgress& progress) { take_progress(progress); },
        .on_warning = [this](const std::string& text) { say_warning(text); },
        .on_checkpoint = [this](const control::RunState& state, control::CheckpointReason reason,
                                bool is_best) { return keep_checkpoint(state, reason, is_best); },
    };
  }

 private:
  Status take_metrics(const control::Figures& figures) {
    before_ = figures;
    ++done_;
    if (!cli::stderr_is_terminal()) cli::print_error(records::summary_of(figures, iterations_) + "\n");
    return folder_.add_metrics(figures);
  }

  Status take_evaluation(const control::Figures& figures) {
    clear_line();
    cli::print_error("evaluation " + records::summary_of(figures, iterations_) + "\n");
    return folder_.add_evaluation(figures);
  }

  void take_progress(const control::RunProgress& progress) {
    account_.iteration = progress.iteration;
    account_.phase = progress.phase;
    const double seconds = base::seconds_since(begin_);
    const auto left = static_cast<double>(iterations_ - progress.iteration + 1);
    // The line begins with its label and ends before the last column.
    constexpr std::string_view label = "train: ";
    const auto columns = static_cast<std::size_t>(cli::stderr_columns()) - 1;
    line_.update(records::progress_of(progress, before_, done_ > 0 ? seconds / static_cast<double>(done_) * left : -1,
                                      columns > label.size() ? columns - label.size() : 0));
  }

  Status keep_checkpoint(const control::RunState& state, control::CheckpointReason reason, bool is_best) {
    DOVETAIL_CHECK(folder_.flush());
    DOVETAIL_CHECK(records::keep_checkpoint(place_, state, models_, is_best));
    if (reason == control::CheckpointReason::interrupted) {
      clear_line();
      cli::print_note(fmt::format("a checkpoint is kept in {}; --resume goes on from there", place_.folder));
    }
    return {};
  }

  static void say_warning(const std::string& text) {
    clear_line();
    cli::print_warning(text);
  }

  records::RunFolder& folder_;
  const records::CheckpointPlace& place_;
  const control::Models& models_;
  std::int64_t iterations_;
  MemoryAccount& account_;
  cli::ProgressLine line_;
  control::Figures before_;
  std::int64_t done_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Whether a run without a checkpoint was stopped before it had its first one: else its rows would be lost.
Status check_begin_anew(const RunArguments& arguments, std::int64_t every) {
  const fs::path path = fs::path(arguments.output) / records::metrics_file_name;
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  DOVETAIL_TRY(const records::FigureTable rows, records::read_figures(path.string()));
  if (every == 0 || rows.rows() < every) return {};
  return base::Error{
      base::Failure::bad_input, arguments.output, 0, 0,
      fmt::format("{} iterations were done, and no checkpoint of them is left; accepted: another folder, "
                  "or this one without its {}",
                  rows.rows(), records::metrics_file_name)};
}

/// The state to go on from, with the models loaded.
Result<control::RunState> state_to_begin_with(const RunArguments& arguments, const control::RunJob& run,
                                              const records::CheckpointPlace& place, TorchModels& models) {
  if (!arguments.resume) return control::initial_state(run.settings);
  DOVETAIL_TRY(std::optional<records::OpenedCheckpoint> checkpoint,
               records::open_newest(place, [](const std::string& text) { cli::print_warning(text); }));
  if (!checkpoint) {
    DOVETAIL_CHECK(check_begin_anew(arguments, run.settings.checkpoint.every));
    cli::print_note("there is no checkpoint yet: the run begins anew");
    return control::initial_state(run.settings);
  }
  DOVETAIL_CHECK(models.load(checkpoint->folder));
  return std::move(checkpoint->state);
}

Status write_if_missing(const fs::path& file, const Result<std::string>& content) {
  std::error_code error;
  if (fs::exists(file, error)) return {};
  if (!content.ok()) return content.error();
  return base::write_file(file.string(), *content);
}

/// Puts what is run into the folder, where it is not there yet.
Status write_inputs(const RunArguments& arguments, const control::RunJob& run) {
  const fs::path folder = arguments.output;
  DOVETAIL_CHECK(write_if_missing(folder / control::plan_file_name, base::read_file(arguments.plan)));
  DOVETAIL_TRY(const std::string job, base::read_file(run.path));
  return write_if_missing(folder / control::job_file_name, plan::job_seen_from(job, run.path, arguments.output));
}

Status export_trained(const RunArguments& arguments, const control::RunJob& run, const TorchModels& models) {
  const workflow::Workflow& workflow = run.job.workflow;
  for (std::size_t i = 0; i < workflow.roles.size(); ++i)
    if (workflow.trained_by[i])
      DOVETAIL_CHECK(models.export_role(workflow.roles[i].name,
                                        (fs::path(arguments.output) / "export" / workflow.roles[i].name).string()));
  return {};
}

/// What the plan needs on its fullest device; nothing where that cannot be said.
std::optional<std::int64_t> predicted_memory(const RunArguments& arguments, const control::RunJob& run) {
  const auto predicted = answer::predict_plan({run.path}, {arguments.plan}, true, {});
  if (!predicted.ok()) return std::nullopt;
  std::int64_t bytes = 0;
  for (const predict::TaskMemory& memory : predicted->estimate.memory) bytes = std::max(bytes, memory.needed());
  return bytes;
}

/// Reads the models and trains. `account` follows it.
Status train(const RunArguments& arguments, control::RunJob& run, const plan::Plan& plan, MemoryAccount& account,
             const parallel::Cancellation& cancellation) {
  DOVETAIL_TRY(std::vector<control::RunModel> opened, control::open_models(run));
  const control::ModelLimits limits = control::limits_of(opened);
  DOVETAIL_TRY(const control::RunInputs inputs, control::read_inputs(run.settings, run.job.workflow.name, limits,
                                                                     run.job.workload.response_length.longest()));
  if (arguments.iterations) {
    run.settings.iterations = arguments.iterations;
    run.settings.epochs.reset();
  }
  TorchModels models(setups_of(std::move(opened), run, plan), cache_bytes_of(run, plan));
  models.add_held(account);
  DOVETAIL_TRY(const std::string hash, run_hash(run, plan));
  const records::CheckpointPlace place{(fs::path(arguments.output) / "checkpoints").string(), hash,
                                       run.settings.checkpoint.keep};
  DOVETAIL_TRY(const records::FolderLock lock, records::FolderLock::take(arguments.output));
  DOVETAIL_TRY(control::RunState state, state_to_begin_with(arguments, run, place, models));
  DOVETAIL_CHECK(write_inputs(arguments, run));
  DOVETAIL_TRY(records::RunFolder folder,
               records::RunFolder::open(arguments.output, state.iterations, state.is_to_be_evaluated));
  std::optional<control::RewardProcesses> rewards;
  if (run.settings.reward) {
    DOVETAIL_TRY(rewards, control::RewardProcesses::start(*run.settings.reward, run.settings.folder));
  }
  const std::int64_t iterations = control::iterations_of(run.settings, run.job, inputs);
  const control::RunSetup setup{
      run.job, plan, run.settings, inputs, iterations, limits.context, rewards ? &*rewards : nullptr};
  RunReporter reporter(folder, place, models, iterations, account);
  if (state.iterations >= iterations)
    cli::print_note(fmt::format("{} iterations are done already, and the run has {}: nothing is trained",
                                state.iterations, iterations));
  const Status ended = control::run(setup, models, reporter.sink(), state, &cancellation);
  if (ended.ok()) DOVETAIL_CHECK(export_trained(arguments, run, models));
  if (const Status written = cli::write_run_results(arguments.output); !written.ok())
    cli::print_warning("the run has no report: " + base::to_text(written.error()));
  if (!ended.ok()) return ended;
  cli::print_error(fmt::format("done: {0}/report.html; trained models in {0}/export\n", arguments.output));
  return {};
}

}  // namespace

Status run_training(const RunArguments& arguments) {
  const c10::InferenceMode no_autograd;
  const parallel::Cancellation& cancellation = cli::stop_on_interrupt_apart();
  const int threads = arguments.deterministic ? 1 : arguments.threads;
  keep_freed_memory();
  use_threads(threads);
  DOVETAIL_TRY(control::RunJob run, control::read_run_job(arguments.job));
  DOVETAIL_TRY(const plan::Plan plan, read_plan_file(arguments.plan, run.job));
  MemoryAccount account;
  account.predicted = predicted_memory(arguments, run);
  return within_memory(account, run.job.workflow, [&] {
    reserve_product_buffers(threads);
    return train(arguments, run, plan, account, cancellation);
  });
}

}  // namespace dovetail::runtime
