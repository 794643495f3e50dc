#include "control/run/evaluation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/stopwatch.h"
#include "control/algorithm/mini_batch.h"
#include "control/run/metrics.h"

namespace dovetail::control {
namespace {

using base::Result;
using base::Status;

/// No epoch of training has this number.
constexpr std::uint64_t evaluation_epoch = std::numeric_limits<std::uint64_t>::max();

std::size_t count_of(const TaskContext& context) {
  return std::min(context.setup.inputs.validation.size(),
                  static_cast<std::size_t>(context.setup.settings.evaluate.samples));
}

/// The workflow's first task of that kind. REQUIRES: there is one.
std::size_t task_of_kind(const workflow::Workflow& workflow, workflow::TaskKind kind) {
  for (std::size_t i = 0; i < workflow.tasks.size(); ++i)
    if (workflow.tasks[i].kind == kind) return i;
  DOVETAIL_ASSERT(false);
}

Status evaluate_responses(TaskContext& context, Figures& figures) {
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
  DOVETAIL_CHECK(judge_responses(context, samples, setup.inputs.validation));
  add_sample_figures(samples, 0, figures);
  return {};
}

/// Adds up a mini-batch's loss, from scores alone.
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

Status evaluate_texts(TaskContext& context, Figures& figures) {
  std::vector<std::size_t> places(count_of(context));
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  TrainingSums sums;
  const RunSetup& setup = context.setup;
  const RunDataset& data = setup.inputs.validation;
  if (!data.pairs.empty()) {
    DOVETAIL_CHECK(score_batch(context, preference_mini_batch(data.pairs, places), sums));
    figures.push_back({"loss", sums.loss});
    figures.push_back({"accuracy", sums.accurate / sums.weight});
    figures.push_back({"margin", sums.margin / sums.weight});
    return {};
  }
  DOVETAIL_CHECK(score_batch(
      context, imitation_mini_batch(data.examples, places, setup.settings.loss.weigh, setup.context), sums));
  figures.push_back({"loss", sums.loss});
  figures.push_back({"perplexity", std::exp(-sums.log_probability / sums.weight)});
  return {};
}

}  // namespace

Result<Figures> evaluate(TaskContext& context) {
  const auto begin = std::chrono::steady_clock::now();
  Figures figures{{"iteration", static_cast<double>(context.state.iterations)}};
  DOVETAIL_CHECK(context.setup.inputs.validation.prompts.empty() ? evaluate_texts(context, figures)
                                                                 : evaluate_responses(context, figures));
  figures.push_back({"evaluate_seconds", base::seconds_since(begin), true});
  return figures;
}

std::optional<double> merit_of(const Figures& evaluation, BestBy best) {
  if (best == BestBy::none) return std::nullopt;
  const Figure* const figure = find_figure(evaluation, best == BestBy::reward ? "reward" : "loss");
  if (figure == nullptr) return std::nullopt;
  return best == BestBy::reward ? figure->value : -figure->value;
}

}  // namespace dovetail::control
