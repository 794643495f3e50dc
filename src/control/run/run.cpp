#include "control/run/run.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "control/data/order.h"
#include "control/run/evaluation.h"
#include "control/run/metrics.h"
#include "control/run/tasks.h"
#include "control/run/usage.h"
#include "plan/fusion.h"

namespace dovetail::control {
namespace {

using base::Status;
using Clock = std::chrono::steady_clock;

/// One run, from the state that it is given on.
class RunLoop {
 public:
  RunLoop(const RunSetup& setup, Models& models, const RunSink& sink, RunState& state,
          const parallel::Cancellation* cancellation)
      : setup_(setup), sink_(sink), state_(state), context_{setup, models, sink, state, cancellation} {}

  Status run() {
    DOVETAIL_CHECK(check_state());
    Status status = go_on();
    if (status.ok() || !is_resumable_) return status;
    const Status kept = sink_.on_checkpoint(state_, CheckpointReason::interrupted, false);
    return status.error().failure == base::Failure::interrupted && !kept.ok() ? kept : status;
  }

 private:
  Status go_on() {
    if (state_.is_to_be_evaluated) DOVETAIL_CHECK(look_and_keep());
    while (state_.iterations < setup_.iterations) {
      begin_ = Clock::now();
      begin_samples(context_);
      if (const Status done = do_tasks(); !done.ok()) {
        state_.seconds += base::seconds_since(begin_);
        return done;
      }
      DOVETAIL_CHECK(finish());
      DOVETAIL_CHECK(look_and_keep());
    }
    return {};
  }

  /// Whether the state is of this job and data: what of it is looked up must be there.
  Status check_state() const {
    const std::vector<Sample>& samples = state_.samples;
    const bool fits = state_.tasks_done <= setup_.job.workflow.order.size() && state_.mini_batches_done >= 0 &&
                      (samples.empty() || samples.size() == static_cast<std::size_t>(setup_.job.workload.samples())) &&
                      std::all_of(samples.begin(), samples.end(), [&](const Sample& sample) {
                        return sample.prompt < setup_.inputs.train.prompts.size();
                      });
    if (fits) return {};
    return base::bad_input(
        "the run was stopped within an iteration of another workload or other data; accepted: those that it began "
        "with");
  }

  /// What models and rewards could not do ends the run, and what was done before is kept.
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
      const Status done =
          resumable(tasks.size() == 1 ? do_task(context_, tasks.front()) : do_training(context_, tasks));
      state_.phase_seconds[name_of(tasks)] += base::seconds_since(begin);
      DOVETAIL_CHECK(done);
      state_.tasks_done += tasks.size();
    }
    return {};
  }

  /// What comes next of the workflow's order: a task, or two trainings that the plan fuses. A training that was begun
  /// alone goes on alone.
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

  /// What comes after the tasks cannot be stopped in between: the state is then that of the next iteration.
  Status finish() {
    DOVETAIL_TRY(const std::vector<RankUsage> usage, context_.models.take_usage());
    Figures figures{{"iteration", static_cast<double>(state_.iterations + 1)}};
    if (!state_.samples.empty()) add_sample_figures(state_.samples, state_.scales.kl_coefficient, figures);
    add_training_figures(state_.training, setup_.job.workflow.name, figures);
    follow_divergence(state_.samples, setup_.settings.loss.kl, state_.scales);
    for (const workflow::Role& role : setup_.job.workflow.roles)
      if (!role.averaged_from.empty()) context_.models.average(role.name, role.averaged_from, role.decay);
    const std::vector<std::string> warnings = warnings_of(figures, state_.health);
    const std::vector<Sample> samples = std::exchange(state_.samples, {});
    add_timings(samples, figures);
    add_shares(usage, figures);
    state_.training.clear();
    state_.phase_seconds.clear();
    state_.seconds = 0;
    state_.tasks_done = 0;
    state_.is_settled = false;
    ++state_.iterations;
    state_.is_to_be_evaluated = true;
    if (!samples.empty()) DOVETAIL_CHECK(sink_.on_samples(state_.iterations, samples));
    DOVETAIL_CHECK(sink_.on_metrics(figures));
    for (const std::string& warning : warnings) sink_.on_warning(warning);
    return {};
  }

  /// Of all parts of an iteration that was stopped in between.
  void add_timings(const std::vector<Sample>& samples, Figures& figures) {
    const workflow::Workflow& workflow = setup_.job.workflow;
    for (const workflow::TaskId task : workflow.order) {
      const std::string& name = workflow.tasks[task.index()].name;
      for (const auto& [phase, seconds] : state_.phase_seconds)
        if (phase == name || phase.starts_with(name + std::string(fused_phase_joint)))
          figures.push_back({phase + "_seconds", seconds, true});
    }
    const double seconds = state_.seconds + base::seconds_since(begin_);
    add_usage({samples, state_.training}, setup_.job, context_.models, seconds, figures);
  }

  static bool is_due(std::int64_t every, std::int64_t iteration) { return every > 0 && iteration % every == 0; }

  /// Evaluation and checkpoint where they are due; both at the end. The models that the run begins with are evaluated,
  /// too.
  Status look_and_keep() {
    const bool is_end = state_.iterations == setup_.iterations;
    const std::int64_t evaluated = setup_.settings.evaluate.every;
    bool is_best = false;
    if (evaluated > 0 && (is_end || is_due(evaluated, state_.iterations))) {
      auto evaluated_figures = evaluate(context_);
      if (!evaluated_figures.ok()) return resumable(evaluated_figures.error());
      const Figures& figures = *evaluated_figures;
      DOVETAIL_CHECK(sink_.on_evaluation(figures));
      const std::optional<double> merit = merit_of(figures, setup_.settings.checkpoint.best);
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
  Clock::time_point begin_;    // of the iteration, or of what a resumption does of it
  bool is_resumable_ = false;  // what is kept when it ends: not what guards refuse, nor beside a sink that fails
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
