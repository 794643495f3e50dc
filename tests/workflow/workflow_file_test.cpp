#include "workflow/workflow_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "workflow/algorithms.h"

namespace dovetail::workflow {
namespace {

using testing::ElementsAre;

base::Result<Workflow> read(const std::string& value) {
  const base::Document document = base::parse_yaml("algorithm: " + value, "job.yaml").value();
  return read_algorithm(document.root().value(0));
}
std::string error_of(const std::string& value) {
  const auto workflow = read(value);
  return workflow.ok() ? "no error" : base::to_text(workflow.error());
}

base::Result<Workload> workload(const std::string& keys) {
  const base::Document document = base::parse_yaml("workload: {" + keys + "}", "job.yaml").value();
  return read_workload(document.root().value(0), "");
}
std::string workload_error(const std::string& keys) {
  const auto result = workload(keys);
  return result.ok() ? "no error" : base::to_text(result.error());
}

void expect_equal(const Workflow& a, const Workflow& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.roles, b.roles);
  EXPECT_EQ(a.tasks, b.tasks);
}

TEST(ReadAlgorithm, ReadsNames) {
  for (const Algorithm& algorithm : algorithms()) {
    expect_equal(read(std::string(algorithm.name)).value(), algorithm.make(algorithm.defaults));
    expect_equal(read("{name: " + std::string(algorithm.name) + "}").value(), algorithm.make(algorithm.defaults));
  }
}

TEST(ReadAlgorithm, ReadsOptions) {
  AlgorithmOptions options;
  options.reference = ReferenceUse::averaged;
  options.reference_decay = 0.995;
  options.reward = RewardUse::rule;
  options.reward_time = base::Ticks(100'000'000);
  options.policy_log_probabilities = LogProbabilities::engine;
  options.ptx_tokens = 4096;
  expect_equal(read("{name: grpo, reference: averaged, reference_decay: 0.995, reward: rule, reward_seconds: 0.1, "
                    "policy_log_probabilities: engine, ptx_tokens: 4096}")
                   .value(),
               find_algorithm("grpo")->make(options));
}

TEST(ReadAlgorithm, ReportsMistakes) {
  EXPECT_EQ(
      error_of("3"),
      "job.yaml:1:12: the algorithm is 3; accepted: ppo, grpo, reinforce++, remax, dpo, reward_model, sft, or a map "
      "with `name`, or with `roles` and `tasks`");
  EXPECT_EQ(error_of("{name: gppo}"),
            "job.yaml:1:19: unknown algorithm `gppo`; did you mean 'ppo'?; accepted: ppo, grpo, reinforce++, remax, "
            "dpo, reward_model, sft");
  EXPECT_EQ(error_of("gppo"),
            "job.yaml:1:12: unknown algorithm `gppo`; did you mean 'ppo'?; accepted: ppo, grpo, reinforce++, remax, "
            "dpo, reward_model, sft, or a map with `name`, or with `roles` and `tasks`");
  EXPECT_EQ(error_of("{reward: rule}"),
            "job.yaml:1:12: the algorithm needs the key `name`; accepted: `name: ppo`, or `roles` and `tasks`");
  EXPECT_EQ(error_of("{name: ppo, rewards: rule}"),
            "job.yaml:1:24: unknown key `rewards` in the algorithm ppo; did you mean `reward`? accepted: name, "
            "reference, reference_decay, "
            "reward, reward_seconds, policy_log_probabilities, ptx_tokens");
  EXPECT_EQ(error_of("{name: sft, reference: pass}"),
            "job.yaml:1:24: unknown key `reference` in the algorithm sft; accepted: name");
  EXPECT_EQ(error_of("{name: ppo, reward: human}"),
            "job.yaml:1:32: `reward` is the string `human`; accepted: model, rule");
  EXPECT_EQ(error_of("{name: ppo, reward_seconds: 1}"),
            "job.yaml:1:40: `reward_seconds` is accepted only with `reward: rule`");
  EXPECT_EQ(error_of("{name: ppo, reward: rule, reward_seconds: -1}"),
            "job.yaml:1:54: `reward_seconds`: -1 is negative; accepted: a number from 0 to 1000000 s");
  EXPECT_EQ(error_of("{name: ppo, reward: rule, reward_seconds: x}"),
            "job.yaml:1:54: `reward_seconds` is the string `x`; accepted: a number of seconds");
  EXPECT_EQ(error_of("{name: ppo, reference_decay: 0.9}"),
            "job.yaml:1:41: `reference_decay` is accepted only with `reference: averaged`");
  EXPECT_EQ(error_of("{name: ppo, reference: averaged, reference_decay: 1}"),
            "job.yaml:1:62: `reference_decay` must be a number from 0 to 0.999999999, not 1");
  EXPECT_EQ(error_of("{name: dpo, reference: skip}"),
            "job.yaml:1:35: `reference` is skip, but dpo needs a reference; accepted: pass, averaged");
  EXPECT_EQ(error_of("{name: ppo, ptx_tokens: 1.5}"),
            "job.yaml:1:36: `ptx_tokens` must be an integer from 0 to 1000000000000, not 1.5");
}

const std::string roles = "\n  roles: [{name: actor}, {name: reward, head: scalar}]\n";
const std::string generate =
    "    - {name: generate, kind: generate, role: actor, inputs: [prompts], outputs: [responses]}\n";

TEST(ReadAlgorithm, ReadsAGraph) {
  const Workflow workflow = read(R"(
  roles:
    - {name: actor}
    - {name: old, averaged_from: actor, decay: 0.5, initialised_from: actor}
    - {name: reward, head: scalar}
  tasks:
    - {name: generate, kind: generate, role: actor, inputs: [prompts], outputs: [a, b]}
    - {name: greedy, kind: generate, role: actor, per: prompt, sequences: 3}
    - {name: judge, kind: infer, role: reward, inputs: [a], outputs: [scores]}
    - {name: compare, kind: infer, role: old, inputs: [a], outputs: [kl]}
    - {name: check, kind: rule, seconds: 0.25, inputs: [b], outputs: [checks]}
    - {name: train, kind: train, role: actor, inputs: [checks, scores, kl], extra_tokens: 100}
)")
                                .value();
  EXPECT_EQ(workflow.name, "custom");
  EXPECT_THAT(workflow.roles, ElementsAre(Role{"actor", Head::language_model, "", "", 0.0},
                                          Role{"old", Head::language_model, "actor", "actor", 0.5},
                                          Role{"reward", Head::scalar, "", "", 0.0}));
  EXPECT_THAT(workflow.tasks.at(0).outputs, ElementsAre("a", "b"));
  EXPECT_EQ(workflow.tasks.at(1).sequences, (SequenceCount{SequenceCount::Per::prompt, 3}));
  EXPECT_EQ(workflow.tasks.at(4).time_per_sequence, base::Ticks(250'000'000));
  EXPECT_EQ(workflow.tasks.at(5).extra_tokens, 100);
  EXPECT_THAT(predecessors(workflow, TaskId(5)), ElementsAre(TaskId(2), TaskId(3), TaskId(4)));
}

TEST(ReadAlgorithm, ReportsMistakesInGraphs) {
  const auto with_task = [](const std::string& task) {
    return error_of(roles + "  tasks:\n" + generate + "    - {name: t, " + task + "}\n");
  };
  EXPECT_EQ(error_of("{tasks: []}"), "job.yaml:1:12: the algorithm needs the key `roles`");
  EXPECT_EQ(error_of("{roles: [], tasks: []}"),
            "job.yaml:1:20: `roles` is a list of 0; accepted: a list of 1 to 256 items");
  EXPECT_EQ(error_of("{roles: 3, tasks: []}"), "job.yaml:1:20: `roles` is 3; accepted: a list of 1 to 256 items");
  EXPECT_EQ(error_of("{name: ppo, tasks: []}"),
            "job.yaml:1:13: unknown key `name` in the algorithm; accepted: roles, tasks");
  EXPECT_EQ(error_of("{roles: [{name: a, decay: 0.5}], tasks: []}"),
            "job.yaml:1:38: `decay` is accepted only with `averaged_from`");
  EXPECT_EQ(error_of("{roles: [{name: a, averaged_from: b}], tasks: []}"),
            "job.yaml:1:21: role `a` needs the key `decay`; accepted: `decay: 0.99`");
  EXPECT_EQ(error_of("{roles: [{name: a, head: critic}], tasks: []}"),
            "job.yaml:1:37: `head` of role `a` is the string `critic`; accepted: language_model, scalar");
  EXPECT_EQ(with_task("kind: evaluate"),
            "job.yaml:5:23: `kind` of task `t` is the string `evaluate`; accepted: generate, infer, train, rule");
  EXPECT_EQ(with_task("role: actor"),
            "job.yaml:5:7: task `t` needs the key `kind`; accepted: generate, infer, train, rule");
  EXPECT_EQ(with_task("kind: infer"), "job.yaml:5:7: task `t` has no role; accepted: a `role`, or `kind: rule`");
  EXPECT_EQ(with_task("kind: infer, role: critic"),
            "job.yaml:5:36: task `t` has the unknown role `critic`; accepted: one of actor, reward");
  EXPECT_EQ(with_task("kind: infer, role: reward, inputs: responses"),
            "job.yaml:5:52: `inputs` of task `t` is the string `responses`; accepted: a list of keys");
  EXPECT_EQ(with_task("kind: infer, role: reward, inputs: [responses, 3]"),
            "job.yaml:5:64: a key of `inputs` of task `t` is 3; accepted: a non-empty string");
  EXPECT_EQ(
      with_task("kind: infer, role: reward, outputs: [scores, responses]"),
      "job.yaml:5:62: the key `responses` is written by `generate` and `t`; accepted: one task that writes each key");
  EXPECT_EQ(with_task("kind: infer, role: reward, inputs: [x], outputs: [x]"),
            "job.yaml:5:53: the tasks wait for each other: `t` reads from `t`; accepted: a graph without cycles");
  EXPECT_EQ(with_task("kind: rule"),
            "job.yaml:2:33: role `reward` is not used; accepted: roles that a task uses, or that another role is "
            "initialized from");
  EXPECT_EQ(with_task("kind: infer, role: reward, seconds: 1"),
            "job.yaml:5:53: `seconds` is accepted only with `kind: rule`");
  EXPECT_EQ(with_task("kind: infer, role: reward, sequences: 0"),
            "job.yaml:5:55: `sequences` of task `t` must be an integer from 1 to 1024, not 0");
}

const std::string sound = "prompts: 128, prompt_length: 100, response_length: 500";

TEST(ReadWorkload, FillsInDefaults) {
  const Workload read = workload(sound).value();
  EXPECT_EQ(read.prompts, 128);
  EXPECT_EQ(read.samples(), 128);
  EXPECT_EQ(read.mini_batches, 1);
  EXPECT_EQ(read.optimizer_steps(), 1);
  EXPECT_EQ(read.epochs, 1);
  EXPECT_EQ(read.steps_off_policy, 0);
  EXPECT_TRUE(read.packing);
  EXPECT_EQ(read.prompt_length, LengthDistribution::fixed(100));
  EXPECT_EQ(read.response_length, LengthDistribution::fixed(500));
}

TEST(ReadWorkload, ReadsEveryKey) {
  const Workload read =
      workload(sound + ", samples_per_prompt: 16, mini_batch: 512, epochs: 2, steps_off_policy: 1, packing: false")
          .value();
  EXPECT_EQ(read.samples(), 2048);
  EXPECT_EQ(read.mini_batches, 4);
  EXPECT_EQ(read.optimizer_steps(), 8);
  EXPECT_EQ(read.steps_off_policy, 1);
  EXPECT_FALSE(read.packing);
  EXPECT_EQ(workload(sound + ", mini_batches: 8")->mini_batches, 8);
  EXPECT_EQ(workload("prompts: 1, prompt_length: 1, response_length: {mean: 1060, sigma: 0.8, cap: 4096}")
                ->response_length.longest(),
            4096);
}

TEST(ReadWorkload, ReadsTheCriticsOwnTraining) {
  const std::string samples = sound + ", mini_batch: 32, epochs: 2";
  const Workload read = workload(samples + ", critic: {mini_batch: 64, epochs: 3}").value();
  const Workflow ppo = find_algorithm("ppo")->make({});
  const Task& actor = ppo.tasks.at(find_task(ppo, "actor_train")->index());
  const Task& critic = ppo.tasks.at(find_task(ppo, "critic_train")->index());
  EXPECT_EQ(mini_batches_of(actor, read), 4);
  EXPECT_EQ(epochs_of(actor, read), 2);
  EXPECT_EQ(optimizer_steps_of(actor, read), 8);
  EXPECT_EQ(mini_batches_of(critic, read), 2);
  EXPECT_EQ(epochs_of(critic, read), 3);
  EXPECT_EQ(optimizer_steps_of(critic, read), 6);
  // Missing values default to those of the other roles. If nothing differs, `critic` stays empty.
  EXPECT_EQ(workload(samples + ", critic: {epochs: 1}")->critic, (OwnTraining{4, 1}));
  EXPECT_EQ(workload(samples + ", critic: {mini_batches: 8}")->critic, (OwnTraining{8, 2}));
  EXPECT_EQ(workload(samples + ", critic: {mini_batches: 4, epochs: 2}")->critic, std::nullopt);
  EXPECT_EQ(workload(samples)->critic, std::nullopt);
  EXPECT_EQ(optimizer_steps_of(critic, workload(samples).value()), 8);
  for (const std::string wrong : {"3", "{mini_batch: 5}", "{mini_batch: 32, mini_batches: 4}", "{mini_batches: 129}",
                                  "{epochs: 0}", "{epochs: 1001}", "{prompts: 3}"})
    EXPECT_FALSE(workload(samples + ", critic: " + wrong).ok()) << wrong;
}

TEST(ReadWorkload, CountsSequences) {
  const Workload read = workload(sound + ", samples_per_prompt: 16").value();
  const Workflow remax = find_algorithm("remax")->make({});
  EXPECT_EQ(sequences_of(remax.tasks.at(0), read), 2048);
  EXPECT_EQ(sequences_of(remax.tasks.at(1), read), 128);
  const Workflow preferences = find_algorithm("dpo")->make({});
  EXPECT_EQ(sequences_of(preferences.tasks.at(0), workload(sound).value()), 256);
  for (const Task& task : preferences.tasks)
    EXPECT_EQ(sequences_together(task), task.kind == TaskKind::train ? 2 : 1) << task.name;
}

TEST(ReadWorkload, PromptAndResponseEndAtTheSequenceCap) {
  const std::string lengths = "prompts: 8, prompt_length: 100, response_length: 400, sequence_cap: ";
  const Workload cut = workload(lengths + "300").value();
  EXPECT_EQ(cut.response_length, LengthDistribution::fixed(200));
  EXPECT_EQ(cut.max_sequence(), 300);
  EXPECT_EQ(workload(lengths + "1000").value().max_sequence(), 500);
  // Longer responses are cut there, too.
  Workload grown = cut;
  set_responses(grown, LengthDistribution::fixed(3200));
  EXPECT_EQ(grown.response_length, LengthDistribution::fixed(200));
  EXPECT_EQ(responses_before_cap(grown), LengthDistribution::fixed(3200));
  set_responses(grown, LengthDistribution::fixed(50));
  EXPECT_EQ(grown.response_length, LengthDistribution::fixed(50));
  EXPECT_THAT(workload_error(lengths + "100"),
              testing::HasSubstr("`sequence_cap` is 100, and prompts have up to 100 tokens; accepted: shorter prompts, "
                                 "or a cap from 101 to 16777216"));
  EXPECT_THAT(workload_error("prompts: 1, prompt_length: 16777216, response_length: 1, sequence_cap: 9"),
              testing::EndsWith("and prompts have up to 16777216 tokens; accepted: shorter prompts"));
  // The sum may exceed the maximum length if the cap is below it.
  EXPECT_TRUE(workload("prompts: 1, prompt_length: 2, response_length: 16777215, sequence_cap: 16777216").ok());
}

TEST(ReadWorkload, ReportsMistakes) {
  EXPECT_EQ(workload_error("prompt_length: 1"), "job.yaml:1:11: the workload needs the key `prompts`");
  EXPECT_EQ(workload_error("prompts: 1"),
            "job.yaml:1:11: the workload needs the key `prompt_length`; accepted: a number of tokens, or statistics of "
            "the lengths");
  EXPECT_THAT(
      workload_error("prompts: 1, prompt_length: 2, response_length: 16777215"),
      testing::HasSubstr("a prompt has up to 2 tokens and its response up to 16777215; accepted: at most 16777216"));
  EXPECT_EQ(
      workload_error("prompts: 16777216, prompt_length: 100, response_length: 100000"),
      "job.yaml:1:21: an iteration processes 1679399321600 tokens (samples: 16777216, tokens of each: 100100, epochs: "
      "1); accepted: at most 1000000000000");
  EXPECT_EQ(workload_error("prompts: 0, prompt_length: 1, response_length: 1"),
            "job.yaml:1:21: `prompts` must be an integer from 1 to 16777216, not 0");
  EXPECT_EQ(workload_error("prompts: 1, prompt_length: x, response_length: 1"),
            "job.yaml:1:39: `prompt_length` is the string `x`; accepted: a number of tokens, statistics such as {p50: "
            "800, p90: 2100}, or {file: PATH}");
  EXPECT_EQ(workload_error(sound + ", prompt: 1"),
            "job.yaml:1:68: unknown key `prompt` in the workload; did you mean `prompts`? accepted: prompts, "
            "samples_per_prompt, mini_batches, "
            "mini_batch, epochs, prompt_length, response_length, steps_off_policy, packing, critic, sequence_cap");
  EXPECT_EQ(workload_error(sound + ", samples_per_prompt: 200000"),
            "job.yaml:1:88: `samples_per_prompt` must be an integer from 1 to 131072, not 200000");
  EXPECT_EQ(workload_error(sound + ", mini_batches: 129"),
            "job.yaml:1:82: `mini_batches` must be an integer from 1 to 128, not 129");
  EXPECT_EQ(workload_error(sound + ", mini_batch: 100"),
            "job.yaml:1:80: `mini_batch` is 100; accepted: a divisor of 128 (the samples of an iteration)");
  EXPECT_EQ(workload_error(sound + ", mini_batch: 64, mini_batches: 2"),
            "job.yaml:1:80: `mini_batch` and `mini_batches` cannot be combined; accepted: one of the two");
  EXPECT_EQ(workload_error(sound + ", epochs: 0"), "job.yaml:1:76: `epochs` must be an integer from 1 to 1000, not 0");
  EXPECT_EQ(workload_error(sound + ", steps_off_policy: -1"),
            "job.yaml:1:86: `steps_off_policy` must be an integer from 0 to 1000, not -1");
  EXPECT_EQ(workload_error(sound + ", packing: yes"),
            "job.yaml:1:77: `packing` is the string `yes`; accepted: true or false");
}

TEST(WorkflowFile, ExamplesOfTheHeaderAreAccepted) {
  const std::string header =
      base::read_file(std::string(DOVETAIL_SOURCE_DIR) + "/src/workflow/workflow_file.h").value();
  int examples = 0;
  std::size_t next = 0;
  while ((next = header.find("\n//   ", next)) != std::string::npos) {
    std::string text;
    while (header.compare(next, 6, "\n//   ") == 0) {
      const std::size_t end = header.find('\n', next + 1);
      const std::string line = header.substr(next + 6, end - next - 6);
      if (!text.empty() && !line.starts_with(' ')) break;  // the next example
      text += line + "\n";
      next = end;
    }
    const base::Document document = base::parse_yaml(text, "example").value();
    const base::Node value = document.root().value(0);
    const bool is_algorithm = document.root().key(0) == "algorithm";
    const std::string fault =
        is_algorithm ? (read_algorithm(value).ok() ? "" : base::to_text(read_algorithm(value).error()))
                     : (read_workload(value, "").ok() ? "" : base::to_text(read_workload(value, "").error()));
    EXPECT_EQ(fault, "") << text;
    ++examples;
  }
  EXPECT_EQ(examples, 4);
}

}  // namespace
}  // namespace dovetail::workflow
