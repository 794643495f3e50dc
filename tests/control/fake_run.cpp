#include "control/fake_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "control/run_settings.h"

namespace dovetail::control {

double RunTale::metric(std::size_t iteration, std::string_view name) const {
  const Metric* const metric = find_metric(metrics.at(iteration), name);
  EXPECT_NE(metric, nullptr) << name;
  return metric != nullptr ? metric->value : std::nan("");
}

text::Tokenizer letter_tokenizer(std::size_t count) {
  std::string vocabulary;
  for (std::size_t token = 0; token < count; ++token)
    vocabulary +=
        (token > 0 ? ", \"" : "\"") + std::string(1, static_cast<char>('a' + token)) + "\": " + std::to_string(token);
  return text::Tokenizer::parse(R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
    "use_regex": true}, "post_processor": null, "decoder": {"type": "ByteLevel", "add_prefix_space": true,
    "trim_offsets": true, "use_regex": true}, "model": {"type": "BPE", "dropout": null, "unk_token": null,
    "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
    "ignore_merges": false, "vocab": {)" +
                                    vocabulary + R"(}, "merges": []}})",
                                "tokenizer.json")
      .value();
}

namespace {

/// Returns a job with the models that its algorithm needs.
plan::Job job_of(const std::string& algorithm, const std::string& workload) {
  const auto read = [&](const std::string& models) {
    return plan::parse_job("format: dovetail/job@1\nalgorithm: " + algorithm + "\nmodels: {" + models +
                               "}\nworkload: " + workload + "\ncluster: {nodes: 1, gpus_per_node: 1, gpu: H100}\n",
                           "job.yaml");
  };
  for (const char* models : {"actor: qwen3-1.7b, reward: qwen3-1.7b", "actor: qwen3-1.7b"})
    if (auto job = read(models); job.ok()) return std::move(*job);
  return read("reward: qwen3-1.7b").value();
}

}  // namespace

FakeRun::FakeRun(const std::string& algorithm, const std::string& workload, std::size_t vocabulary)
    : job(job_of(algorithm, workload)), inputs{letter_tokenizer(vocabulary), {}, {}, {}}, models(vocabulary) {
  plan.tasks.resize(job.workflow.tasks.size());
  for (plan::TaskPlan& task : plan.tasks) task.micro_batching.sequences = 3;
  settings = default_settings(job.workflow.name);
  settings.evaluate.every = 0;
  settings.checkpoint.every = 0;
  for (const workflow::Role& role : job.workflow.roles) {
    if (role.head == workflow::Head::scalar)
      models.add_scalar(role.name);
    else
      models.add_language_model(role.name);
  }
  for (const workflow::Task& task : job.workflow.tasks)
    if (task.kind == workflow::TaskKind::train) settings.optimizer[task.role].learning_rate = 0.05;
}

void FakeRun::prompt_with(TokenId count) {
  for (TokenId token = 0; token < count; ++token)
    inputs.train.prompts.push_back({{token}, std::string(1, static_cast<char>('a' + token)), ""});
}

RunSetup FakeRun::setup() const {
  return {.job = job,
          .plan = plan,
          .settings = settings,
          .inputs = inputs,
          .iterations = iterations_of(settings, job, inputs),
          .context = 64,
          .reward_function =
              judge ? judge : [this](std::span<const Response> responses, const parallel::Cancellation* cancellation) {
                return rewards->rewards_of(responses, cancellation);
              }};
}

base::Status FakeRun::continue_run(RunState& state, RunTale& tale, const parallel::Cancellation* cancellation) {
  const auto metrics_that = [](bool are_timings, Metrics metrics) {
    std::erase_if(metrics, [=](const Metric& metric) { return metric.is_timing != are_timings; });
    return metrics;
  };
  const RunSink sink{.on_metrics = [&](const Metrics& metrics) -> base::Status {
                       tale.metrics.push_back(metrics_that(false, metrics));
                       tale.timings.push_back(metrics_that(true, metrics));
                       return {};
                     },
                     .on_evaluation = [&](const Metrics& metrics) -> base::Status {
                       tale.evaluations.push_back(metrics_that(false, metrics));
                       return {};
                     },
                     .on_samples = [&](std::int64_t iteration, std::span<const Sample> samples) -> base::Status {
                       tale.samples.emplace_back(iteration, std::vector<Sample>(samples.begin(), samples.end()));
                       return {};
                     },
                     .on_progress = {},
                     .on_warning = [&](const std::string& text) { tale.warnings.push_back(text); },
                     .on_checkpoint = [&](const RunState& kept, CheckpointReason reason, bool is_best) -> base::Status {
                       tale.states.push_back(state_to_json(kept));
                       tale.reasons.push_back(reason);
                       tale.best.push_back(is_best);
                       tale.kept.push_back(models.roles);
                       return {};
                     }};
  return control::run(setup(), models, sink, state, cancellation);
}

RunTale FakeRun::run() {
  RunState state = initial_state(settings);
  RunTale tale;
  const base::Status status = continue_run(state, tale);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : to_text(status.error()));
  return tale;
}

}  // namespace dovetail::control
