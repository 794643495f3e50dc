#include "control/run/tasks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "control/algorithm/mini_batch.h"
#include "control/data/run_inputs.h"
#include "learn/learning_rate.h"
#include "text/unicode.h"
#include "workflow/workflow.h"

namespace dovetail::control {
namespace {

using base::Result;
using base::Status;
using workflow::Task;
using workflow::TaskId;
using workflow::TaskKind;

constexpr std::uint64_t order_of_samples = 2;

const Task& task_of(const TaskContext& context, TaskId task) { return context.setup.job.workflow.tasks[task.index()]; }

void report_progress(const TaskContext& context, std::string_view phase, std::size_t done, std::size_t total) {
  if (context.sink.on_progress)
    context.sink.on_progress({context.state.iterations + 1, context.setup.iterations, phase,
                              static_cast<std::int64_t>(done), static_cast<std::int64_t>(total)});
}

std::int64_t max_response(const RunSetup& setup) { return setup.job.workload.response_length.longest(); }

/// Returns the text of a response for users, without special tokens, up to the stop text.
std::string text_of(const text::Tokenizer& tokenizer, const GeneratedResponse& response) {
  if (!response.text_bytes) return tokenizer.decode(response.tokens, text::SpecialTokens::left_out);
  return text::to_valid_utf8(tokenizer.bytes_of(response.tokens).substr(0, *response.text_bytes));
}

void take_response(const TaskContext& context, const GeneratedResponse& response, Sample& sample) {
  sample.sequence.tokens.insert(sample.sequence.tokens.end(), response.tokens.begin(), response.tokens.end());
  sample.sampled = response.log_probabilities;
  sample.ended = response.ended;
  sample.text = text_of(context.setup.inputs.tokenizer, response);
  sample.is_sampled = true;
}

GenerationSettings generation_settings(const RunSetup& setup, const plan::Engine& engine, const Sampling& sampling) {
  GenerationSettings settings;
  settings.limits = {sampling.temperature, sampling.top_k, sampling.top_p};
  settings.max_tokens = max_response(setup);
  settings.min_tokens = sampling.min_tokens;
  settings.ends = setup.inputs.ends;
  settings.stops = sampling.stop;
  settings.tokenizer = &setup.inputs.tokenizer;
  settings.engine = engine;
  return settings;
}

PassSettings pass_settings(const TaskContext& context, TaskId task) {
  PassSettings settings;
  const double temperature = context.setup.settings.sampling.temperature;
  settings.temperature = temperature > 0 ? temperature : 1;
  settings.micro_batching = context.setup.plan.tasks[task.index()].micro_batching;
  settings.cancellation = context.cancellation;
  return settings;
}

Result<std::vector<Scores>> score_samples(const TaskContext& context, TaskId id, const std::string& role,
                                          std::span<const Sample> samples) {
  std::vector<TokenSequence> sequences;
  for (const Sample& sample : samples) sequences.push_back(sample.sequence);
  PassSettings settings = pass_settings(context, id);
  const std::string& name = task_of(context, id).name;
  settings.on_progress = [&](std::size_t done) { report_progress(context, name, done, samples.size()); };
  return context.models.score(role, sequences, settings);
}

Status infer(TaskContext& context, TaskId id) {
  const Task& task = task_of(context, id);
  std::vector<Sample>& samples = context.state.samples;
  DOVETAIL_TRY(std::vector<Scores> scores, score_samples(context, id, task.role, samples));
  const bool is_reference = task.outputs.front() == "reference_log_probabilities";
  const bool is_critic = task.outputs.front() == "values";
  for (std::size_t i = 0; i < samples.size(); ++i)
    (is_reference ? samples[i].reference
     : is_critic  ? samples[i].values
                  : samples[i].policy) = std::move(scores[i].values);
  return {};
}

/// One train task of an iteration: its remaining mini-batches.
class TrainTask {
 public:
  TrainTask(TaskContext& context, TaskId id)
      : context_(context),
        setup_(context.setup),
        id_(id),
        task_(task_of(context, id)),
        record_(context.state.training[task_.name]),
        samples_(sample_count()),
        first_(context.state.mini_batches_done) {}

  /// Returns the training of the remaining mini-batches. With `follow`, the state is updated after each.
  Training training(bool follow) {
    Training training{.role = task_.role, .mini_batches = {}, .settings = pass_settings(context_, id_), .decide = {}};
    if (!record_.is_stopped)
      for (std::int64_t number = first_; number < total(); ++number) {
        training.mini_batches.push_back(mini_batch_of(places_of_mini_batch(number)));
        tokens_.push_back(tokens_of(training.mini_batches.back()));
      }
    training.decide = [this, follow](std::size_t index, double norm, const TrainingSums& sums) {
      const std::int64_t number = first_ + static_cast<std::int64_t>(index);
      auto decision = decide(number, norm, sums);
      if (follow) context_.state.mini_batches_done = number + 1;
      report_done(number + 1);
      return decision;
    };
    report_done(first_);
    return training;
  }

 private:
  std::int64_t total() const { return workflow::optimizer_steps_of(task_, setup_.job.workload); }

  void report_done(std::int64_t mini_batches) const {
    report_progress(context_, task_.name, static_cast<std::size_t>(mini_batches), static_cast<std::size_t>(total()));
  }

  std::size_t sample_count() const {
    if (!context_.state.samples.empty()) return context_.state.samples.size();
    return static_cast<std::size_t>(setup_.job.workload.prompts);
  }

  /// Returns indexes of samples, or of data items if there are no samples.
  std::vector<std::size_t> places_of_mini_batch(std::int64_t number) const {
    const workflow::OwnTraining training = workflow::training_of(task_, setup_.job.workload);
    const std::int64_t epoch = context_.state.iterations * training.epochs + number / training.mini_batches;
    const auto part = static_cast<std::size_t>(number % training.mini_batches);
    const std::vector<std::size_t> order =
        permutation(setup_.settings.seed, order_of_samples, static_cast<std::uint64_t>(epoch), samples_);
    const auto parts = static_cast<std::size_t>(training.mini_batches);
    const std::size_t each = samples_ / parts;
    const std::size_t more = samples_ % parts;
    const std::size_t begin = part * each + std::min(part, more);
    const std::size_t end = begin + each + (part < more ? 1 : 0);
    std::vector<std::size_t> places(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                    order.begin() + static_cast<std::ptrdiff_t>(end));
    if (context_.state.samples.empty()) to_data(places);
    return places;
  }

  void to_data(std::vector<std::size_t>& places) const {
    const std::vector<DataPlace> items =
        places_of(setup_.settings.seed, setup_.settings.data.shuffle, setup_.inputs.train.size(),
                  context_.state.iterations, setup_.job.workload.prompts);
    for (std::size_t& place : places) place = items[place].index;
  }

  MiniBatch mini_batch_of(const std::vector<std::size_t>& places) const {
    const LossSettings& loss = setup_.settings.loss;
    const std::vector<Sample>& samples = context_.state.samples;
    if (!setup_.inputs.train.examples.empty())
      return imitation_mini_batch(setup_.inputs.train.examples, places, loss.weigh, setup_.context);
    if (!setup_.inputs.train.pairs.empty()) return preference_mini_batch(setup_.inputs.train.pairs, places);
    const auto role = workflow::find_role(setup_.job.workflow, task_.role);
    if (setup_.job.workflow.roles[role->index()].head == workflow::Head::scalar)
      return value_mini_batch(samples, places, loss, max_response(setup_));
    return policy_mini_batch(samples, places, loss, context_.state.scales.kl_coefficient, max_response(setup_));
  }

  static std::int64_t tokens_of(const MiniBatch& mini_batch) {
    std::int64_t tokens = 0;
    for (const TokenSequence& sequence : mini_batch.sequences)
      tokens += static_cast<std::int64_t>(sequence.tokens.size());
    return tokens;
  }

  Result<StepDecision> decide(std::int64_t number, double norm, const TrainingSums& sums) {
    ++record_.mini_batches;
    record_.tokens += tokens_[static_cast<std::size_t>(number - first_)];
    if (!std::isfinite(norm) || !std::isfinite(sums.loss)) {
      DOVETAIL_CHECK(skip(places_of_mini_batch(number)));
      return StepDecision{};
    }
    context_.state.skipped_in_a_row[task_.role] = 0;
    if (record_.mini_batches == 1) record_.first = sums;
    record_.sums.add(sums);
    record_.norm += norm;
    record_.max_norm = std::max(record_.max_norm, norm);
    const auto limit = setup_.settings.loss.early_stop_kl;
    if (limit && sums.ratio > 0 && sums.divergence / sums.weight > *limit) {
      record_.is_stopped = true;
      return StepDecision{.step = std::nullopt, .ends = true};
    }
    return StepDecision{.step = step(number, norm), .ends = false};
  }

  StepSettings step(std::int64_t number, double norm) {
    StepSettings settings;
    settings.optimizer = setup_.settings.optimizer.at(task_.role);
    const RateSchedule& schedule = settings.optimizer.schedule;
    settings.rate_part = learn::rate_part(schedule.name, schedule.warmup, schedule.minimum,
                                          context_.state.iterations * total() + number, setup_.iterations * total());
    if (settings.optimizer.clip && norm > *settings.optimizer.clip)
      settings.clip_factor = *settings.optimizer.clip / norm;
    ++record_.steps;
    record_.rate = settings.optimizer.learning_rate * settings.rate_part;
    return settings;
  }

  Status skip(const std::vector<std::size_t>& places) {
    ++record_.skipped;
    const std::int64_t in_a_row = ++context_.state.skipped_in_a_row[task_.role];
    const Guards& guards = setup_.settings.guards;
    if (guards.non_finite == NonFinite::skip && in_a_row < guards.in_a_row) return {};
    return base::Error{
        base::Failure::invalid, "", 0, 0,
        fmt::format("the loss or gradients of {} are not finite in iteration {} (consecutive steps with this fault: "
                    "{}; numbers of the samples in the last one, counted from 0: {}); try a lower learning rate or "
                    "stronger clipping",
                    task_.role, context_.state.iterations + 1, in_a_row, fmt::join(places, ", "))};
  }

  TaskContext& context_;
  const RunSetup& setup_;
  const TaskId id_;
  const Task& task_;
  TrainingRecord& record_;
  const std::size_t samples_;
  const std::int64_t first_;
  std::vector<std::int64_t> tokens_;  // of each mini-batch
};

/// Trains several roles together, or one role, which may resume where it was interrupted. The state has no place
/// within a training of several roles, so this one cannot be interrupted.
Status train(TaskContext& context, std::span<const TaskId> ids) {
  const bool is_fused = ids.size() > 1;
  std::vector<std::unique_ptr<TrainTask>> tasks;
  std::vector<Training> trainings;
  for (const TaskId id : ids) {
    tasks.push_back(std::make_unique<TrainTask>(context, id));
    trainings.push_back(tasks.back()->training(!is_fused));
    if (is_fused) trainings.back().settings.cancellation = nullptr;
  }
  DOVETAIL_CHECK(context.models.train(trainings));
  context.state.mini_batches_done = 0;
  return {};
}

}  // namespace

void begin_samples(TaskContext& context) {
  const RunSetup& setup = context.setup;
  if (setup.inputs.train.prompts.empty() || !context.state.samples.empty()) return;
  const std::vector<DataPlace> places =
      places_of(setup.settings.seed, setup.settings.data.shuffle, setup.inputs.train.prompts.size(),
                context.state.iterations, setup.job.workload.prompts);
  for (std::size_t group = 0; group < places.size(); ++group)
    for (std::int64_t copy = 0; copy < setup.job.workload.samples_per_prompt; ++copy) {
      Sample& sample = context.state.samples.emplace_back();
      sample.epoch = places[group].epoch;
      sample.prompt = places[group].index;
      sample.copy = static_cast<std::uint64_t>(copy);
      sample.group = static_cast<std::int64_t>(group);
    }
}

Status sample_responses(TaskContext& context, std::vector<Sample>& samples, const RunDataset& data,
                        const std::string& role, const plan::Engine& engine, const Sampling& sampling,
                        std::string_view phase) {
  report_progress(context, phase, 0, samples.size());
  std::vector<GenerationRequest> requests;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Sample& sample = samples[i];
    if (sample.is_sampled) continue;
    sample.sequence.tokens = data.prompts[sample.prompt].tokens;
    sample.sequence.first_scored = sample.sequence.tokens.size();
    requests.push_back({sample.sequence.tokens,
                        sample.group,
                        {context.setup.settings.seed, sample.epoch, sample.prompt, sample.copy, 0}});
    places.push_back(i);
  }
  const std::size_t before = samples.size() - places.size();
  std::size_t done = before;
  const auto on_response = [&](std::size_t index, const GeneratedResponse& response) {
    take_response(context, response, samples[places[index]]);
    report_progress(context, phase, ++done, samples.size());
  };
  const auto responses = context.models.generate(role, requests, generation_settings(context.setup, engine, sampling),
                                                 context.cancellation, on_response);
  if (!responses.ok()) return responses.error();
  return {};
}

Status reward_responses(TaskContext& context, std::vector<Sample>& samples, const RunDataset& data) {
  const workflow::Workflow& workflow = context.setup.job.workflow;
  for (std::size_t index = 0; index < workflow.tasks.size(); ++index) {
    const Task& task = workflow.tasks[index];
    if (task.outputs != std::vector<std::string>{"rewards"}) continue;
    if (task.kind == TaskKind::rule) {
      std::vector<Response> responses;
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const PromptTokens& prompt = data.prompts[samples[i].prompt];
        responses.push_back({std::to_string(i), prompt.text, samples[i].text, prompt.answer});
      }
      DOVETAIL_TRY(const std::vector<double> rewards, context.setup.reward_function(responses, context.cancellation));
      for (std::size_t i = 0; i < samples.size(); ++i) samples[i].reward = rewards[i];
      return {};
    }
    DOVETAIL_TRY(const std::vector<Scores> scores,
                 score_samples(context, TaskId(static_cast<std::int32_t>(index)), task.role, samples));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i].reward = scores[i].values.back();
      if (!std::isfinite(samples[i].reward))
        return base::Error{
            base::Failure::invalid, "", 0, 0,
            fmt::format("{} returned {} for response {} to prompt {} of the data; rewards must be finite", task.role,
                        samples[i].reward, samples[i].copy + 1, samples[i].prompt + 1)};
    }
    return {};
  }
  DOVETAIL_ASSERT(false);
}

Status do_task(TaskContext& context, TaskId id) {
  const Task& task = task_of(context, id);
  std::vector<Sample>& samples = context.state.samples;
  if (task.kind == TaskKind::generate)
    return sample_responses(context, samples, context.setup.inputs.train, task.role,
                            context.setup.plan.tasks[id.index()].engine, context.setup.settings.sampling, task.name);
  if (task.kind == TaskKind::train) return do_training(context, std::array{id});
  report_progress(context, task.name, 0, samples.size());
  if (task.outputs == std::vector<std::string>{"rewards"})
    return reward_responses(context, samples, context.setup.inputs.train);
  return infer(context, id);
}

Status do_training(TaskContext& context, std::span<const TaskId> tasks) {
  std::vector<Sample>& samples = context.state.samples;
  if (!samples.empty() && !context.state.is_settled) {
    compute_advantages(samples, context.setup.settings.loss, max_response(context.setup), context.state.scales);
    context.state.is_settled = true;
  }
  return train(context, tasks);
}

}  // namespace dovetail::control
