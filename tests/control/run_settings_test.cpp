#include "control/run_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "plan/job_file.h"

namespace dovetail::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;

/// Returns a job with this algorithm and this section `train`, indented by two.
std::string job_with(const std::string& algorithm, const std::string& models, const std::string& train,
                     const std::string& samples = "") {
  return "format: dovetail/job@1\nalgorithm: " + algorithm + "\nmodels: " + models + "\nworkload: {prompts: 8, " +
         samples +
         "prompt_length: 10, response_length: 10}\n"
         "cluster: {nodes: 1, gpus_per_node: 1, gpu: H100}\n" +
         train;
}

base::Result<RunSettings> read(const std::string& text) {
  const std::string path = "folder/job.yaml";
  const auto job = plan::parse_job(text, path);
  EXPECT_TRUE(job.ok()) << (job.ok() ? "" : to_text(job.error()));
  const base::Document document = base::parse_yaml_or_json(text, path).value();
  return read_run(document.root(), path, job->workflow);
}

base::Result<RunSettings> read_ppo(const std::string& train) {
  return read(job_with("ppo", "{actor: qwen3-1.7b, reward: qwen3-1.7b}", train));
}
base::Result<RunSettings> read_grpo(const std::string& train) {
  return read(job_with("{name: grpo, reward: rule}", "{actor: qwen3-1.7b}", train, "samples_per_prompt: 4, "));
}
base::Result<RunSettings> read_sft(const std::string& train) {
  return read(job_with("sft", "{actor: qwen3-1.7b}", train));
}

std::string error_of(const base::Result<RunSettings>& settings) {
  return settings.ok() ? "no error" : to_text(settings.error());
}

const std::string least = "train:\n  iterations: 3\n  data: {train: a.jsonl}\n  tokenizer: t\n";
const std::string rewarded = least + "  reward: {command: [python3, reward.py]}\n";

TEST(ReadRun, RequiresSeveralResponsesPerGroup) {
  const std::string train = "train: {data: {train: a}, iterations: 1, tokenizer: t, reward: {command: [a]}}\n";
  for (const char* const samples : {"", "samples_per_prompt: 1, "}) {
    const auto run = read(job_with("{name: grpo, reward: rule}", "{actor: qwen3-1.7b}", train, samples));
    ASSERT_FALSE(run.ok());
    EXPECT_THAT(to_text(run.error()), HasSubstr("`samples_per_prompt` must be at least 2"));
  }
}

TEST(ReadRun, HasDefaultsForTheRest) {
  const RunSettings ppo = read_ppo(least).value();
  EXPECT_EQ(ppo.iterations, 3);
  EXPECT_EQ(ppo.seed, 1U);
  EXPECT_EQ(ppo.data.train, "folder/a.jsonl");
  EXPECT_EQ(ppo.tokenizer, "folder/t");
  EXPECT_THAT(ppo.optimizer, ElementsAre(Key("actor"), Key("critic")));
  EXPECT_EQ(ppo.loss, LossSettings{});
  EXPECT_EQ(ppo.evaluate.every, 0) << "there is nothing to evaluate on";
  EXPECT_FALSE(ppo.reward.has_value());
  const RunSettings grpo = read_grpo(rewarded).value();
  EXPECT_EQ(grpo.loss.kl.in, KlPlace::loss);
  EXPECT_EQ(grpo.loss.kl.estimator, learn::KlEstimator::k3);
  EXPECT_EQ(grpo.loss.advantage, AdvantageScale::group);
  EXPECT_EQ(grpo.loss.weigh, learn::TokenWeighting::sequences);
  EXPECT_THAT(grpo.reward->command, ElementsAre("python3", "reward.py"));
  EXPECT_EQ(grpo.reward->timeout, 10);
}

TEST(ReadRun, ReadsTheWholeSection) {
  const RunSettings run = read_grpo(R"(train:
  epochs: 2
  seed: 7
  data: {train: a.jsonl, validation: b.jsonl, shuffle: false, template: chatml}
  weights: {actor: /weights}
  optimizer: {actor: {learning_rate: 1e-4, betas: [0.8, 0.9], clip: none, schedule: {name: cosine, warmup: 5}}}
  sampling: {temperature: 0.5, stop: ["\n", "end"]}
  loss: {clip_high: 0.3, kl: {coefficient: 0.5, target: 2}, weigh: constant, reward_clip: 5}
  reward: {command: [./judge], processes: 2, timeout: 500ms}
  evaluate: {every: 5}
  checkpoint: {best: reward}
  guards: {non_finite: stop}
)")
                              .value();
  EXPECT_EQ(run.epochs, 2);
  EXPECT_EQ(run.data.validation, "folder/b.jsonl");
  EXPECT_EQ(run.data.chat_template, text::ChatTemplate::chatml);
  EXPECT_EQ(run.weights.at("actor"), "/weights");
  EXPECT_EQ(run.tokenizer, "/weights");
  const OptimizerSettings& actor = run.optimizer.at("actor");
  EXPECT_EQ(actor.learning_rate, 1e-4);
  EXPECT_THAT(actor.betas, ElementsAre(0.8, 0.9));
  EXPECT_EQ(actor.clip, std::nullopt);
  EXPECT_EQ(actor.schedule.name, learn::RateShape::cosine);
  EXPECT_EQ(actor.schedule.warmup, 5);
  EXPECT_THAT(run.sampling.stop, ElementsAre("\n", "end"));
  EXPECT_EQ(run.loss.clip, 0.2);
  EXPECT_EQ(run.loss.clip_high, 0.3);
  EXPECT_EQ(run.loss.kl.in, KlPlace::loss) << "unspecified settings keep the algorithm's default";
  EXPECT_EQ(run.loss.kl.coefficient, 0.5);
  EXPECT_EQ(run.loss.kl.target, 2);
  EXPECT_EQ(run.loss.reward_clip, 5);
  EXPECT_EQ(run.reward->timeout, 0.5);
  EXPECT_EQ(run.evaluate.every, 5);
  EXPECT_EQ(run.evaluate.samples, 256);
  EXPECT_EQ(run.guards.non_finite, NonFinite::stop);
}

TEST(ReadRun, TextsHaveOneLossOption) {
  EXPECT_EQ(read_sft(least + "  loss: {weigh: sequences}\n")->loss.weigh, learn::TokenWeighting::sequences);
  EXPECT_THAT(error_of(read(job_with("reward_model", "{reward: qwen3-1.7b}", least + "  loss: {weigh: tokens}\n"))),
              HasSubstr("`weigh` does not apply to reward_model; accepted: no `loss`"));
}

TEST(ReadRun, RejectsOptionsTheAlgorithmDoesNotUse) {
  EXPECT_THAT(error_of(read_sft(least + "  loss: {clip: 0.1}\n")),
              HasSubstr("folder/job.yaml:10:10: `clip` does not apply to sft; accepted: weigh"));
  EXPECT_THAT(error_of(read_sft(least + "  sampling: {temperature: 1}\n")),
              HasSubstr("`sampling` does not apply to sft, which generates no responses"));
  EXPECT_THAT(error_of(read_grpo(rewarded + "  loss: {lambda: 0.9}\n")), HasSubstr("`lambda` does not apply to grpo"));
  EXPECT_THAT(error_of(read_grpo(rewarded + "  loss: {kl: {in: reward}}\n")),
              HasSubstr("`in` is the string `reward`; grpo requires `in: loss`"));
  EXPECT_THAT(error_of(read_ppo(least + "  loss: {beta: 1}\n")), HasSubstr("`beta` does not apply to ppo"));
  EXPECT_THAT(error_of(read_ppo(rewarded)), HasSubstr("`reward` cannot be combined with a reward model"));
  EXPECT_THAT(error_of(read_grpo(least)), HasSubstr("`train` needs a reward command: `reward: {command:"));
  EXPECT_THAT(
      error_of(read(job_with("dpo", "{actor: qwen3-1.7b}", least))),
      HasSubstr("folder/job.yaml:2:12: training with dpo is not supported; accepted: ppo, grpo, sft, reward_model"));
}

TEST(ReadRun, RejectsOptionsWithoutEffect) {
  const std::string evaluated = "train:\n  iterations: 3\n  data: {train: a, validation: b}\n  tokenizer: t\n";
  EXPECT_THAT(error_of(read_ppo(least + "  loss: {importance_cap: 2}\n")),
              HasSubstr("`importance_cap` needs the trainer's log-probabilities"));
  EXPECT_TRUE(read_ppo(least + "  loss: {importance_cap: none}\n").ok());
  EXPECT_TRUE(read_grpo(rewarded + "  loss: {importance_cap: 2}\n").ok());
  EXPECT_THAT(error_of(read(job_with("{name: ppo, reference: skip}", "{actor: qwen3-1.7b, reward: qwen3-1.7b}",
                                     least + "  loss: {kl: {coefficient: 1}}\n"))),
              HasSubstr("`kl` needs a reference"));
  EXPECT_THAT(error_of(read(job_with("{name: ppo, ptx_tokens: 5}", "{actor: qwen3-1.7b, reward: qwen3-1.7b}", least))),
              HasSubstr("folder/job.yaml:2:12: actor_train has pretraining tokens, which runs do not support"));
  EXPECT_THAT(error_of(read_sft(least + "  checkpoint: {best: loss}\n")),
              HasSubstr("folder/job.yaml:10:22: `best` is loss, but nothing is evaluated"));
  EXPECT_TRUE(read_sft(evaluated + "  checkpoint: {best: loss}\n").ok());
  EXPECT_THAT(error_of(read_sft(evaluated + "  checkpoint: {best: reward}\n")),
              HasSubstr("`best` is reward; accepted for sft: loss, none"));
  EXPECT_THAT(error_of(read_ppo(evaluated + "  checkpoint: {best: loss}\n")), HasSubstr("accepted for ppo: reward"));
}

TEST(ReadRun, RejectsInvalidSettings) {
  EXPECT_THAT(error_of(read_sft("")), HasSubstr("a job that is run needs the key `train`"));
  EXPECT_THAT(error_of(read_sft("train: {data: {train: a}, tokenizer: t}\n")),
              HasSubstr("`train` needs a length: `iterations: N` or `epochs: N`"));
  EXPECT_THAT(error_of(read_sft(least + "  epochs: 2\n")), HasSubstr("`epochs` and `iterations` cannot be combined"));
  EXPECT_THAT(error_of(read_sft("train: {iterations: 3, tokenizer: t}\n")), HasSubstr("needs the key `data`"));
  EXPECT_THAT(error_of(read_sft("train: {iterations: 3, data: {shuffle: true}, tokenizer: t}\n")),
              HasSubstr("`data` needs the key `train`"));
  EXPECT_THAT(error_of(read_sft("train: {iterations: 3, data: {train: a}}\n")), HasSubstr("`train` needs a tokenizer"));
  EXPECT_THAT(error_of(read_sft(least + "  weights: {critic: w}\n")), HasSubstr("`critic`"));
  EXPECT_THAT(error_of(read_sft(least + "  optimizer: {reference: {}}\n")), HasSubstr("`reference`"));
  EXPECT_THAT(error_of(read_sft(least + "  optimizer: {actor: {betas: [0.9]}}\n")),
              HasSubstr("`betas` is a list of 1; accepted: a list of 2 numbers"));
  EXPECT_THAT(error_of(read_sft(least + "  optimizer: {actor: {clip: never}}\n")), HasSubstr("or `none`"));
  EXPECT_THAT(error_of(read_sft(least + "  precision: {train: bf16}\n")),
              HasSubstr("`train` is the string `bf16`; only fp32 is supported"));
  EXPECT_THAT(error_of(read_sft(least + "  evaluate: {every: 5}\n")), HasSubstr("`evaluate` needs validation data"));
  EXPECT_THAT(error_of(read_sft(least + "  colour: red\n")), HasSubstr("`colour`"));
  EXPECT_THAT(error_of(read_grpo(least + "  reward: {command: []}\n")), HasSubstr("`reward` needs a command"));
  EXPECT_THAT(error_of(read_grpo(least + "  reward: {command: [a], timeout: 0}\n")), HasSubstr("`timeout`"));
  EXPECT_THAT(error_of(read_grpo(rewarded + "  sampling: {top_p: 0}\n")), HasSubstr("`top_p`"));
}

TEST(HashOf, CoversSettingsThatAffectTheNumbers) {
  const std::string hash = hash_of(read_ppo(least).value());
  EXPECT_TRUE(base::is_sha256_hex(hash));
  std::string longer = least;
  longer.replace(longer.find(": 3"), 3, ": 9");
  EXPECT_EQ(hash_of(read_ppo(longer).value()), hash);
  for (const char* other : {"  seed: 2\n", "  loss: {gamma: 0.9}\n", "  loss: {kl: {estimator: k2}}\n",
                            "  weights: {critic: w}\n", "  optimizer: {critic: {learning_rate: 1}}\n",
                            "  sampling: {top_k: 5}\n", "  guards: {in_a_row: 5}\n", "  checkpoint: {keep: 9}\n"})
    EXPECT_NE(hash_of(read_ppo(least + other).value()), hash) << other;
}

}  // namespace

}  // namespace dovetail::control
