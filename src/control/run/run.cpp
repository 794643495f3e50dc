#include "control/run/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "control/algorithm/mini_batch.h"
#include "control/data/run_inputs.h"
#include "control/run/metrics.h"
#include "control/run/run_sink.h"
#include "control/run/tasks.h"
#include "plan/fusion.h"

namespace dovetail::control {
namespace {

using base::Result;
using base::Status;

/// Epoch number that training never uses.
constexpr std::uint64_t evaluation_epoch = std::numeric_limits<std::uint64_t>::max();

std::size_t count_of(const TaskContext& context) {
  return std::min(context.setup.inputs.validation.size(),
                  static_cast<std::size_t>(context.setup.settings.evaluate.samples));
}

/// Returns the workflow's first task of this kind. REQUIRES: there is one.
std::size_t task_of_kind(const workflow::Workflow& workflow, workflow::TaskKind kind) {
  for (std::size_t i = 0; i < workflow.tasks.size(); ++i)
    if (workflow.tasks[i].kind == kind) return i;
  DOVETAIL_ASSERT(false);
}

Status evaluate_responses(TaskContext& context, Metrics& metrics) {
  std::vector<Sample> samples(count_of(context));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].epoch = evaluation_epoch;
    samples[i].prompt = i;
    samples[i].group = static_cast<std::int64_t>(i);
  }
  const RunSetup& setup = context.setup;
  const std::size_t task = task_of_kind(setup.job.workflow, workflow::TaskKind::generate);
  Sampling sampling = setup.settings.sampling;
  sampling.temperature = setup.settings.evaluate.temperature;
  DOVETAIL_CHECK(sample_responses(context, samples, setup.inputs.validation, setup.job.workflow.tasks[task].role,
                                  setup.plan.tasks[task].engine, sampling, "evaluate"));
  DOVETAIL_CHECK(reward_responses(context, samples, setup.inputs.validation));
  add_sample_metrics(samples, 0, metrics);
  return {};
}

/// Adds up a mini-batch's loss without training.
Status score_batch(TaskContext& context, const MiniBatch& batch, TrainingSums& sums) {
  const std::size_t task = task_of_kind(context.setup.job.workflow, workflow::TaskKind::train);
  PassSettings settings;
  settings.micro_batching = context.setup.plan.tasks[task].micro_batching;
  settings.kept_together = batch.kept_together;
  settings.cancellation = context.cancellation;
  DOVETAIL_TRY(const std::vector<Scores> scores,
               context.models.score(context.setup.job.workflow.tasks[task].role, batch.sequences, settings));
  std::vector<std::size_t> ids(scores.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  (void)batch.loss(ids, scores, sums);
  return {};
}

Status evaluate_texts(TaskContext& context, Metrics& metrics) {
  std::vector<std::size_t> places(count_of(context));
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  TrainingSums sums;
  const RunSetup& setup = context.setup;
  const RunDataset& data = setup.inputs.validation;
  if (!data.pairs.empty()) {
    DOVETAIL_CHECK(score_batch(context, preference_mini_batch(data.pairs, places), sums));
    metrics.push_back({"loss", sums.loss});
    metrics.push_back({"accuracy", sums.accurate / sums.weight});
    metrics.push_back({"margin", sums.margin / sums.weight});
    return {};
  }
  DOVETAIL_CHECK(score_batch(
      context, imitation_mini_batch(data.examples, places, setup.settings.loss.weigh, setup.context), sums));
  metrics.push_back({"loss", sums.loss});
  metrics.push_back({"perplexity", std::exp(-sums.log_probability / sums.weight)});
  return {};
}

/// Evaluates the first `evaluate.samples` items of the validation data. Prompts get one response each, sampled at
/// `evaluate.temperature`: mean reward, lengths and share of truncated responses. Texts yield the cross entropy; pairs
/// yield loss, accuracy and margin. `iteration` is the first metric. Sampling uses an epoch number that training never
/// uses.
Result<Metrics> evaluate(TaskContext& context) {
  const auto begin = std::chrono::steady_clock::now();
  Metrics metrics{{"iteration", static_cast<double>(context.state.iterations)}};
  DOVETAIL_CHECK(context.setup.inputs.validation.prompts.empty() ? evaluate_texts(context, metrics)
                                                                 : evaluate_responses(context, metrics));
  metrics.push_back({"evaluate_seconds", base::seconds_since(begin), true});
  return metrics;
}

/// Returns the metric by which the best checkpoint is chosen; greater is better. nullopt if the settings choose none.
std::optional<double> score_of(const Metrics& evaluation, BestBy best) {
  if (best == BestBy::none) return std::nullopt;
  const Metric* const metric = find_metric(evaluation, best == BestBy::reward ? "reward" : "loss");
  if (metric == nullptr) return std::nullopt;
  return best == BestBy::reward ? metric->value : -metric->value;
}

using Clock = std::chrono::steady_clock;

/// One run, from a given state.
class RunLoop {
 public:
  RunLoop(const RunSetup& setup, Models& models, const RunSink& sink, RunState& state,
          const parallel::Cancellation* cancellation)
      : setup_(setup), sink_(sink), state_(state), context_{setup, models, sink, state, cancellation} {}

  Status run() {
    DOVETAIL_CHECK(check_state());
    Status status = continue_run();
    if (status.ok() || !is_resumable_) return status;
    const Status kept = sink_.on_checkpoint(state_, CheckpointReason::interrupted, false);
    return status.error().failure == base::Failure::interrupted && !kept.ok() ? kept : status;
  }

 private:
  Status continue_run() {
    if (state_.is_to_be_evaluated) DOVETAIL_CHECK(evaluate_and_save());
    while (state_.iterations < setup_.iterations) {
      begin_ = Clock::now();
      begin_samples(context_);
      if (const Status done = do_tasks(); !done.ok()) {
        state_.seconds += base::seconds_since(begin_);
        return done;
      }
      DOVETAIL_CHECK(finish());
      DOVETAIL_CHECK(evaluate_and_save());
    }
    return {};
  }

  /// Returns an Error if the state does not fit this job and data: its indexes must exist.
  Status check_state() const {
    const std::vector<Sample>& samples = state_.samples;
    const bool fits = state_.tasks_done <= setup_.job.workflow.order.size() && state_.mini_batches_done >= 0 &&
                      (samples.empty() || samples.size() == static_cast<std::size_t>(setup_.job.workload.samples())) &&
                      std::all_of(samples.begin(), samples.end(), [&](const Sample& sample) {
                        return sample.prompt < setup_.inputs.train.prompts.size();
                      });
    if (fits) return {};
    return base::bad_input(
        "the run was stopped within an iteration, and its workload or data have changed since; restore the "
        "workload and data that it started with");
  }

  /// Marks errors of models and rewards as resumable: they end the run, and completed work is kept.
  Status resumable(Status status) {
    is_resumable_ = !status.ok() && status.error().failure != base::Failure::invalid;
    return status;
  }

  Status do_tasks() {
    const workflow::Workflow& workflow = setup_.job.workflow;
    while (state_.tasks_done < workflow.order.size()) {
      if (parallel::is_requested(context_.cancellation))
        return resumable(
            parallel::stopped_before("the iteration was done", *parallel::ended_by(context_.cancellation)));
      const std::span<const workflow::TaskId> tasks = tasks_at(state_.tasks_done);
      const Clock::time_point begin = Clock::now();
      // After an error within a fused training, the models may be some steps ahead of the state: it is not saved.
      const Status done =
          tasks.size() == 1 ? resumable(do_task(context_, tasks.front())) : do_training(context_, tasks);
      state_.phase_seconds[name_of(tasks)] += base::seconds_since(begin);
      DOVETAIL_CHECK(done);
      state_.tasks_done += tasks.size();
    }
    return {};
  }

  /// Returns the next tasks in the workflow's order: one task, or two train tasks that the plan fuses. A train task
  /// that was started alone continues alone.
  std::span<const workflow::TaskId> tasks_at(std::size_t place) const {
    const std::span<const workflow::TaskId> rest = std::span(setup_.job.workflow.order).subspan(place);
    const auto& pair = setup_.plan.fusion.training;
    const bool fuses = pair && rest.size() > 1 && state_.mini_batches_done == 0 &&
                       plan::partner_of(*pair, rest[0].index()) == rest[1].index();
    return rest.first(fuses ? 2 : 1);
  }

  std::string name_of(std::span<const workflow::TaskId> tasks) const {
    std::string name;
    for (const workflow::TaskId task : tasks) {
      if (!name.empty()) name += fused_phase_joint;
      name += setup_.job.workflow.tasks[task.index()].name;
    }
    return name;
  }

  /// The work after the tasks cannot be interrupted: the state already belongs to the next iteration.
  Status finish() {
    DOVETAIL_TRY(const std::vector<RankUsage> usage, context_.models.take_usage());
    Metrics metrics{{"iteration", static_cast<double>(state_.iterations + 1)}};
    if (!state_.samples.empty()) add_sample_metrics(state_.samples, state_.scales.kl_coefficient, metrics);
    add_training_metrics(state_.training, setup_.job.workflow.name, metrics);
    follow_divergence(state_.samples, setup_.settings.loss.kl, state_.scales);
    for (const workflow::Role& role : setup_.job.workflow.roles)
      if (!role.averaged_from.empty()) context_.models.average(role.name, role.averaged_from, role.decay);
    const std::vector<std::string> warnings = warnings_of(metrics, state_.health);
    const std::vector<Sample> samples = std::exchange(state_.samples, {});
    add_timings(samples, metrics);
    add_shares(usage, metrics);
    state_.training.clear();
    state_.phase_seconds.clear();
    state_.seconds = 0;
    state_.tasks_done = 0;
    state_.is_settled = false;
    ++state_.iterations;
    state_.is_to_be_evaluated = true;
    if (!samples.empty()) DOVETAIL_CHECK(sink_.on_samples(state_.iterations, samples));
    DOVETAIL_CHECK(sink_.on_metrics(metrics));
    for (const std::string& warning : warnings) sink_.on_warning(warning);
    return {};
  }

  /// Adds the times of all parts of an iteration, including those before an interruption.
  void add_timings(const std::vector<Sample>& samples, Metrics& metrics) {
    const workflow::Workflow& workflow = setup_.job.workflow;
    for (const workflow::TaskId task : workflow.order) {
      const std::string& name = workflow.tasks[task.index()].name;
      for (const auto& [phase, seconds] : state_.phase_seconds)
        if (phase == name || phase.starts_with(name + std::string(fused_phase_joint)))
          metrics.push_back({phase + "_seconds", seconds, true});
    }
    const double seconds = state_.seconds + base::seconds_since(begin_);
    add_usage({samples, state_.training}, setup_.job, context_.models, seconds, metrics);
  }

  static bool is_due(std::int64_t every, std::int64_t iteration) { return every > 0 && iteration % every == 0; }

  /// Evaluates and saves a checkpoint when due, and at the end. The initial models are evaluated, too.
  Status evaluate_and_save() {
    const bool is_end = state_.iterations == setup_.iterations;
    const std::int64_t evaluated = setup_.settings.evaluate.every;
    bool is_best = false;
    if (evaluated > 0 && (is_end || is_due(evaluated, state_.iterations))) {
      auto evaluated_metrics = evaluate(context_);
      if (!evaluated_metrics.ok()) return resumable(evaluated_metrics.error());
      const Metrics& metrics = *evaluated_metrics;
      DOVETAIL_CHECK(sink_.on_evaluation(metrics));
      const std::optional<double> merit = score_of(metrics, setup_.settings.checkpoint.best);
      is_best = merit && (!state_.best || *merit > *state_.best);
      if (is_best) state_.best = merit;
    }
    state_.is_to_be_evaluated = false;
    const bool is_kept = state_.iterations > 0 && is_due(setup_.settings.checkpoint.every, state_.iterations);
    if (!is_end && !is_best && !is_kept) return {};
    return sink_.on_checkpoint(state_, is_end ? CheckpointReason::end : CheckpointReason::due, is_best);
  }

  const RunSetup& setup_;
  const RunSink& sink_;
  RunState& state_;
  TaskContext context_;
  Clock::time_point begin_;    // of the iteration, or of its resumed part
  bool is_resumable_ = false;  // save a checkpoint after the error; false for errors of guards and sinks
};

}  // namespace

std::int64_t iterations_of(const RunSettings& settings, const plan::Job& job, const RunInputs& inputs) {
  if (settings.iterations) return *settings.iterations;
  return iterations_of(*settings.epochs, inputs.train.size(), job.workload.prompts);
}

RunState initial_state(const RunSettings& settings) {
  RunState state;
  state.scales.kl_coefficient = settings.loss.kl.coefficient;
  state.is_to_be_evaluated = true;
  return state;
}

Status run(const RunSetup& setup, Models& models, const RunSink& sink, RunState& state,
           const parallel::Cancellation* cancellation) {
  return RunLoop(setup, models, sink, state, cancellation).run();
}

}  // namespace dovetail::control
