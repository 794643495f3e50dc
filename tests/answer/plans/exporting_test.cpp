#include "answer/plans/exporting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "answer/plans/example_jobs.h"
#include "base/file.h"
#include "plan/plan_file.h"
#include "planner/rank/rank.h"
#include "predict/closed_form/software.h"
#include "support/effort.h"
#include "support/jobs.h"
#include "support/temporary_folder.h"

namespace dovetail::answer {
namespace {

using testing::HasSubstr;

/// A configuration that plans are exported over.
struct Base {
  std::string trainer;
  std::string file;
  std::string content;
};

std::string verl_script(const std::string& overrides) {
  return "#!/bin/bash\npython3 -m verl.trainer.main_ppo data.train_batch_size=128 data.max_prompt_length=512 "
         "data.max_response_length=2048 actor_rollout_ref.actor.ppo_mini_batch_size=64 "
         "actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.rollout.name=vllm "
         "actor_rollout_ref.rollout.gpu_memory_utilization=0.6 trainer.n_gpus_per_node=8 " +
         overrides + " \"$@\"\n";
}

const std::string dynamic =
    "actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True "
    "actor_rollout_ref.ref.log_prob_use_dynamic_bsz=True ";
const std::string grpo =
    "algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8 actor_rollout_ref.actor.use_kl_loss=True "
    "actor_rollout_ref.model.path=Qwen/Qwen3-4B ";
const std::string ppo =
    "algorithm.adv_estimator=gae actor_rollout_ref.model.path=Qwen/Qwen3-4B critic.model.path=Qwen/Qwen3-1.7B "
    "algorithm.use_kl_in_reward=True critic.use_dynamic_bsz=True ";

const std::vector<Base>& bases() {
  const std::string nemo_rl =
      "defaults: grpo_math_1B.yaml\ngrpo: {num_prompts_per_step: 64, num_generations_per_prompt: 8}\npolicy:\n"
      "  model_name: Qwen/Qwen3-4B\n  max_total_sequence_length: 2048\n";
  static const std::vector<Base> all{
      {"verl", "run.sh", verl_script(dynamic + grpo)},
      {"verl", "run.sh", verl_script(dynamic + ppo + "trainer.nnodes=2")},
      {"verl", "run.sh", verl_script(dynamic + grpo + "model_engine=megatron trainer.nnodes=2")},
      {"verl", "run.sh",
       verl_script(dynamic + ppo + "model_engine=megatron actor_rollout_ref.actor.megatron.param_offload=True")},
      {"nemo-rl", "grpo.yaml",
       nemo_rl + "  dtensor_cfg: {tensor_parallel_size: 2}\ncluster: {gpus_per_node: 8, num_nodes: 1}\n"},
      {"nemo-rl", "grpo.yaml",
       nemo_rl + "  dtensor_cfg: {enabled: false}\n  megatron_cfg: {enabled: true, pipeline_model_parallel_size: 2}\n"
                 "cluster: {gpus_per_node: 8, num_nodes: 2}\n"}};
  return all;
}

/// Keeps half of the optimizer on the host.
const Base verl_half_on_host{
    "verl", "run.sh",
    verl_script(dynamic + grpo +
                "model_engine=megatron "
                "+actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True "
                "+actor_rollout_ref.actor.optim.override_optimizer_config.use_precision_aware_optimizer=True "
                "+actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction=0.5")};

/// Uses the older name of a parallel degree.
const Base older_verl{"verl", "run.sh",
                      verl_script(dynamic + grpo + "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2")};

const Base nemo_rl_half_on_host{
    "nemo-rl", "grpo.yaml",
    "defaults: grpo_math_1B.yaml\ngrpo: {num_prompts_per_step: 64, num_generations_per_prompt: 8}\npolicy:\n"
    "  model_name: Qwen/Qwen3-4B\n  max_total_sequence_length: 2048\n  dtensor_cfg: {enabled: false}\n"
    "  megatron_cfg:\n    enabled: true\n    optimizer: {optimizer_cpu_offload: true, optimizer_offload_fraction: "
    "0.5}\n"
    "cluster: {gpus_per_node: 8, num_nodes: 2}\n"};

/// Flags are changed in a copy.
const Base openrlhf{
    "openrlhf", "run.sh",
    "#!/bin/bash\npython3 -m openrlhf.cli.train_ppo_ray \\\n  --actor.model_name_or_path Qwen/Qwen3-4B \\\n"
    "  --reward.remote_url rule.py \\\n  --vllm.num_engines 8 \\\n  --train.colocate_all \\\n"
    "  --vllm.enable_sleep \\\n  --vllm.enforce_eager \\\n  --ds.enable_sleep \\\n"
    "  --ds.zero_stage 3 \\\n  --ds.packing_samples \\\n  --train.dynamic_batch_enable \\\n"
    "  --rollout.batch_size 128 \\\n  --rollout.n_samples_per_prompt 4 \\\n  --data.max_len 2048\n"};

base::Result<trainers::Import> with(const trainers::ExportBase& base,
                                    const std::vector<const trainers::Change*>& changes) {
  trainers::ImportOptions options = base.options;
  for (const trainers::Change* change : changes)
    for (const std::string& word : trainers::arguments_of(*change)) options.arguments.push_back(word);
  return trainers::import_run(base.path, base.content, options);
}

/// Settings of a plan that a trainer needs, as JSON.
std::vector<std::string> difference_to_defaults(const plan::Job& job, plan::Plan plan) {
  std::vector<std::string> lines;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    plan::TaskPlan& planned = plan.tasks[task];
    // Inference has no optimizer, and a single device shards nothing.
    if (job.workflow.tasks[task].kind == workflow::TaskKind::infer && planned.layout.zero < 3) planned.layout.zero = 0;
    if (planned.layout.data * planned.layout.context == 1) planned.layout.zero = 0;
  }
  plan.placement = "custom";
  // Unmodeled settings of a change do not affect what runs.
  plan.not_modelled.clear();
  std::istringstream stream(plan::plan_to_json(plan, job));
  for (std::string line; std::getline(stream, line);)
    if (line.find("\"task\"") != std::string::npos) lines.push_back(line);
  return lines;
}

template <class Value>
const Value& any_of(std::mt19937& random, const std::vector<Value>& values) {
  return values[random() % values.size()];
}

/// Exports a random plan for the base and checks that each change is needed.
void expect_minimal_changes(const Base& chosen, std::mt19937& random) {
  const std::string gpu = any_of<std::string>(random, {"H100", "A100-80", "H200"});
  const std::string length = any_of<std::string>(random, {"300", "mean=700,p90=1300"});
  const trainers::ExportBase base{chosen.file, chosen.content, example_import_options(gpu, length)};
  const auto import = trainers::import_run(base.path, base.content, base.options);
  ASSERT_TRUE(import.ok());
  const predict::Scenario scenario = predict::scenario_of(import->job, predict::software_of(import->job).value());
  planner::RankOptions quick = test::quick_options();
  quick.search.seed = random();
  const auto ranking = planner::rank_plans(scenario, quick);
  ASSERT_TRUE(ranking.ok());
  if (ranking->plans.empty()) return;
  const plan::Plan& plan = any_of(random, ranking->plans).plan;
  const auto made = trainers::export_run(base, plan, chosen.trainer);
  ASSERT_TRUE(made.ok()) << base::to_text(made.error()) << chosen.content << plan::plan_to_json(plan, import->job);
  std::vector<const trainers::Change*> all;
  for (const trainers::RequiredChange& kept : made->changes) all.push_back(&kept.change);
  const auto changed = with(base, all);
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->text, import->text);
  EXPECT_EQ(difference_to_defaults(import->job, changed->plan), difference_to_defaults(import->job, plan));
  for (std::size_t index = 0; index < all.size(); ++index) {
    std::vector<const trainers::Change*> fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(index));
    const auto without = with(base, fewer);
    EXPECT_TRUE(!without.ok() ||
                difference_to_defaults(import->job, without->plan) != difference_to_defaults(import->job, plan))
        << all[index]->set.key;
    EXPECT_EQ(without.ok(), made->changes[index].without.has_value());
  }
}

TEST(ExportRun, ChangedBaseRunsThePlanWithMinimalChanges) {
  std::mt19937 random(1);
  for (int i = 0; i < test::effort(40) && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    expect_minimal_changes(any_of(random, bases()), random);
  }
}

TEST(ExportRun, OlderNamesNeedNoMoreChanges) {
  std::mt19937 random(4);
  for (int i = 0; i < test::effort(10) && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    expect_minimal_changes(older_verl, random);
  }
}

TEST(ExportRun, WritesRecomputationAsModules) {
  const std::string overrides = dynamic +
                                "algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8 model_engine=megatron "
                                "actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B trainer.nnodes=2 ";
  const std::string more = "+actor_rollout_ref.actor.megatron.override_transformer_config.recompute_";
  const std::string nemo_rl =
      "defaults: grpo_math_1B.yaml\npolicy:\n  model_name: Qwen/Qwen3-30B-A3B\n  dtensor_cfg: {enabled: false}\n"
      "  megatron_cfg: {enabled: true}\ncluster: {gpus_per_node: 8, num_nodes: 2}\n";
  const Base all[] = {
      {"verl", "run.sh", verl_script(overrides)},
      {"verl", "run.sh", verl_script(overrides + more + "granularity=selective " + more + "modules=[moe]")},
      {"nemo-rl", "grpo.yaml", nemo_rl}};
  using llm::Recomputation;
  for (const Base& chosen : all)
    for (const auto again :
         {Recomputation::none, Recomputation::selective, Recomputation::experts, Recomputation::full}) {
      const trainers::ExportBase base{chosen.file, chosen.content, example_import_options()};
      const auto import = trainers::import_run(base.path, base.content, base.options);
      ASSERT_TRUE(import.ok()) << base::to_text(import.error());
      plan::Plan plan = import->plan;
      plan.tasks[workflow::find_task(import->job.workflow, "actor_train")->index()].layout.recomputation = again;
      const auto made = trainers::export_run(base, plan, chosen.trainer);
      ASSERT_TRUE(made.ok()) << base::to_text(made.error()) << chosen.content;
      std::vector<const trainers::Change*> changes;
      for (const trainers::RequiredChange& kept : made->changes) changes.push_back(&kept.change);
      const auto changed = with(base, changes);
      ASSERT_TRUE(changed.ok()) << base::to_text(changed.error());
      EXPECT_EQ(difference_to_defaults(import->job, changed->plan), difference_to_defaults(import->job, plan))
          << chosen.content;
    }
}

TEST(ExportRun, KeepsTheOffloadedShareOfTheOptimizer) {
  std::mt19937 random(2);
  for (int i = 0; i < test::effort(10) && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    for (const Base& base : {verl_half_on_host, nemo_rl_half_on_host}) expect_minimal_changes(base, random);
  }
}

/// Finds a plan for a base in a folder, and exports it.
class Exporting : public testing::Test {
 protected:
  ExportRequest request_for(const Base& base) {
    const std::string file = folder_.write(base.file, base.content);
    ExportRequest request;
    request.base = JobInput(file);
    request.base.import = example_import_options();
    request.base.import.root.reset();
    request.trainer = base.trainer;
    const auto import = trainers::import_run(file, base.content, request.base.import);
    EXPECT_TRUE(import.ok());
    const predict::Scenario scenario = predict::scenario_of(import->job, predict::software_of(import->job).value());
    const auto ranking = planner::rank_plans(scenario, test::quick_options());
    request.plan = Input{"plan.json", plan::plan_to_json(ranking->plans.front().plan, import->job)};
    return request;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Exporting, ExportedFilesImportBackToThePlan) {
  for (const Base& base : {bases()[0], bases()[3], bases()[5], openrlhf}) {
    const ExportRequest request = request_for(base);
    const auto answer = answer_to(request, Callbacks{});
    ASSERT_TRUE(answer.ok()) << base::to_text(answer.error());
    ASSERT_FALSE(answer->changes.empty());
    EXPECT_LT(answer->seconds, answer->base_seconds);
    std::filesystem::create_directory(folder_.file("below"));
    const std::string target = folder_.file("below/tuned" + std::string(base.trainer == "nemo-rl" ? ".yaml" : ".sh"));
    const std::string text = exported_file(*answer, target);
    ASSERT_TRUE(base::write_file(target, text).ok());
    trainers::ImportOptions options = request.base.import;
    options.root = folder_.path();
    const auto again = trainers::import_run(target, text, options);
    ASSERT_TRUE(again.ok()) << base::to_text(again.error()) << text;
    EXPECT_EQ(difference_to_defaults(again->job, again->plan), difference_to_defaults(again->job, answer->plan))
        << text;
  }
}

TEST_F(Exporting, ReadsLengthsFromAFile) {
  ExportRequest request = request_for(bases()[0]);
  request.base.import.response_length.reset();
  request.base.lengths = folder_.write("lengths.csv", "length\n700\n");
  std::vector<std::string> notes;
  Callbacks callbacks;
  callbacks.on_note = [&notes](std::string_view note) { notes.emplace_back(note); };
  const auto answer = answer_to(request, callbacks);
  ASSERT_TRUE(answer.ok()) << base::to_text(answer.error());
  EXPECT_THAT(notes, testing::ElementsAre(HasSubstr("mean 700 tokens")))
      << "the plan belongs to this job with these lengths";
  request.base.lengths.reset();
  request.base.import.response_length = "file=" + folder_.write("damaged.csv", "length\n700\n-5\n");
  EXPECT_THAT(base::to_text(answer_to(request, Callbacks{}).error()), HasSubstr("damaged.csv:3:1: the length is"));
}

TEST_F(Exporting, CopiesKeepOtherLinesAndShowTheDifference) {
  const auto answer = answer_to(request_for(openrlhf), Callbacks{});
  ASSERT_TRUE(answer.ok()) << base::to_text(answer.error());
  const std::string copy = exported_file(*answer, "tuned.sh");
  EXPECT_THAT(copy, HasSubstr("  --rollout.batch_size 128 \\\n  --rollout.n_samples_per_prompt 4 \\\n"));
  EXPECT_THAT(copy, HasSubstr("\n# without --vllm.enforce_eager: "));
  EXPECT_THAT(copy, testing::Not(HasSubstr("\n  --vllm.enforce_eager")));
  const Sections printed = sections(*answer);
  const Text* const last = std::get_if<Text>(&printed.all().back());
  ASSERT_NE(last, nullptr);
  EXPECT_THAT(last->lines, HasSubstr("\n-   --vllm.enforce_eager \\\n"));
}

TEST_F(Exporting, EachChangeHasAReason) {
  const auto answer = answer_to(request_for(bases()[1]), Callbacks{});
  ASSERT_TRUE(answer.ok()) << base::to_text(answer.error());
  bool in_seconds = false;
  for (const ReasonedChange& change : answer->changes) {
    EXPECT_FALSE(change.reason.empty());
    in_seconds = in_seconds || change.reason.ends_with("s more");
  }
  EXPECT_TRUE(in_seconds);
}

TEST_F(Exporting, EscapesNamesInComments) {
  auto answer = answer_to(request_for(bases()[1]), Callbacks{});
  ASSERT_TRUE(answer.ok()) << base::to_text(answer.error());
  answer->plan_name = "name\ntouch stolen";
  answer->changes.front().reason = "why\ntouch stolen";
  EXPECT_THAT(exported_file(*answer, "tuned.sh"), testing::Not(HasSubstr("\ntouch")));
}

TEST_F(Exporting, ChangesNothingIfTheBaseRunsThePlan) {
  ExportRequest request = request_for(bases()[0]);
  const auto import = trainers::import_run(request.base.path, bases()[0].content, request.base.import);
  request.plan.text = plan::plan_to_json(import->plan, import->job);
  const auto answer = answer_to(request, Callbacks{});
  ASSERT_TRUE(answer.ok()) << base::to_text(answer.error());
  EXPECT_TRUE(answer->changes.empty());
  EXPECT_DOUBLE_EQ(answer->seconds, answer->base_seconds);
}

const char* const areal_yaml =
    "cluster: {n_nodes: 1, n_gpus_per_node: 8}\nrollout: {backend: \"sglang:d4\", consumer_batch_size: 64}\n"
    "gconfig: {n_samples: 4, max_new_tokens: 1024}\nactor:\n  backend: \"fsdp:d4\"\n  path: Qwen/Qwen3-4B\n"
    "  mb_spec: {max_tokens_per_mb: 8192}\n  optimizer: {type: adam}\n  ppo_n_minibatches: 2\n"
    "train_dataset: {batch_size: 64, max_length: 512}\n";

TEST_F(Exporting, ArealScriptPassesTheChanges) {
  folder_.write("grpo.yaml", areal_yaml);
  const std::string script = "#!/bin/bash\npython3 train.py --config grpo.yaml \"$@\"\n";
  ExportRequest request;
  request.base = JobInput(folder_.write("run.sh", script));
  request.base.import = example_import_options();
  request.base.import.root.reset();
  request.trainer = "areal";
  trainers::ImportOptions other = request.base.import;
  other.arguments = {"actor.backend=fsdp:d2t2", "++actor.fsdp.offload_params=true"};
  const auto wanted = trainers::import_run(request.base.path, script, other);
  ASSERT_TRUE(wanted.ok()) << base::to_text(wanted.error());
  request.plan = Input{"plan.json", plan::plan_to_json(wanted->plan, wanted->job)};
  const auto answer = answer_to(request, Callbacks{});
  ASSERT_TRUE(answer.ok()) << base::to_text(answer.error());
  ASSERT_EQ(answer->changes.size(), 2U);
  EXPECT_EQ(answer->changes[0].change.set.key, "++actor.backend");
  const std::string target = folder_.file("tuned.sh");
  const std::string text = exported_file(*answer, target);
  const auto again = trainers::import_run(target, text, request.base.import);
  ASSERT_TRUE(again.ok()) << base::to_text(again.error()) << text;
  EXPECT_EQ(difference_to_defaults(again->job, again->plan), difference_to_defaults(wanted->job, wanted->plan)) << text;
}

TEST_F(Exporting, ArgsListPlainSettings) {
  ExportRequest request;
  request.base = JobInput(folder_.write("grpo.yaml", areal_yaml));
  request.base.import = example_import_options();
  request.trainer = "areal";
  request.format = ExportFormat::args;
  trainers::ImportOptions other = request.base.import;
  other.arguments = {"actor.mb_spec.max_tokens_per_mb=16384"};
  const auto wanted = trainers::import_run(request.base.path, areal_yaml, other);
  ASSERT_TRUE(wanted.ok()) << base::to_text(wanted.error());
  request.plan = Input{"plan.json", plan::plan_to_json(wanted->plan, wanted->job)};
  const auto answer = answer_to(request, Callbacks{});
  ASSERT_TRUE(answer.ok()) << base::to_text(answer.error());
  EXPECT_EQ(exported_file(*answer, "-"), "actor.mb_spec.max_tokens_per_mb=16384\n");
  request.format = ExportFormat::file;
  const auto patched = answer_to(request, Callbacks{});
  ASSERT_TRUE(patched.ok());
  EXPECT_THAT(exported_file(*patched, "-"), testing::MatchesRegex("(.|\n)*\n  # without it, [^\n]*\n  mb_spec: "
                                                                  "\\{max_tokens_per_mb: 16384\\}\n(.|\n)*"));
}

/// Writes a random plan as a complete file and imports it with the variables that it requires.
void expect_whole_file(const Base& base, std::mt19937& random) {
  const trainers::ImportOptions options = example_import_options();
  const auto import = trainers::import_run(base.file, base.content, options);
  ASSERT_TRUE(import.ok());
  const predict::Scenario scenario = predict::scenario_of(import->job, predict::software_of(import->job).value());
  planner::RankOptions quick = test::quick_options();
  quick.search.seed = random();
  const auto ranking = planner::rank_plans(scenario, quick);
  ASSERT_TRUE(ranking.ok());
  ASSERT_FALSE(ranking->plans.empty());
  const plan::Plan& plan = any_of(random, ranking->plans).plan;
  const auto made = trainers::export_complete_file(import->job, plan, base.trainer);
  ASSERT_TRUE(made.ok()) << base::to_text(made.error());
  trainers::ImportOptions again = options;
  for (const trainers::RequiredName& required : made->required)
    again.environment.push_back(required.name + "=" + required.example);
  const auto read = trainers::import_run(made->is_script ? "run.sh" : "run.yaml", made->content, again);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error()) << made->content;
  EXPECT_EQ(difference_to_defaults(import->job, read->plan), difference_to_defaults(import->job, plan))
      << made->content;
  const auto without_name = [](const std::string& text) { return text.substr(text.find("\nalgorithm:")); };
  EXPECT_EQ(without_name(read->text), without_name(import->text)) << made->content;
  EXPECT_FALSE(trainers::import_run("run.sh", made->content, options).ok());
}

TEST(ExportWhole, ImportsBackToTheJobAndThePlan) {
  std::mt19937 random(3);
  std::vector<Base> all = bases();
  all.push_back(openrlhf);
  for (const Base& base : all)
    for (int i = 0; i < test::effort(5) && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(base.content);
      expect_whole_file(base, random);
    }
}

std::string error_of(const ExportRequest& request) {
  const auto answer = answer_to(request, Callbacks{});
  return answer.ok() ? "no error" : base::to_text(answer.error());
}

TEST(ExportWhole, SupportsACapOnPromptAndResponseTogether) {
  trainers::ImportOptions options = example_import_options();
  options.prompt_length = "mean=150,p90=300";
  options.response_length = "mean=700,p90=1300";
  for (const auto& [base, more] :
       {std::pair{bases()[4], ""}, std::pair{bases()[0], "actor_rollout_ref.rollout.max_model_len=2048"}}) {
    trainers::ImportOptions as_it_is = options;
    if (*more != 0) as_it_is.arguments = {more};
    const auto import = trainers::import_run(base.file, base.content, as_it_is);
    ASSERT_TRUE(import.ok()) << base::to_text(import.error());
    EXPECT_EQ(import->job.workload.max_sequence(), 2048) << import->text;
    const auto ranking = planner::rank_plans(
        predict::scenario_of(import->job, predict::software_of(import->job).value()), test::quick_options());
    ASSERT_TRUE(ranking.ok());
    const auto made = trainers::export_complete_file(import->job, ranking->plans.front().plan, base.trainer);
    EXPECT_TRUE(made.ok()) << base.trainer << ": " << base::to_text(made.error());
  }
}

TEST_F(Exporting, CompleteFileListsRequiredVariables) {
  ExportRequest request = request_for(bases()[1]);
  const auto import = trainers::import_run(request.base.path, bases()[1].content, request.base.import);
  request.base = JobInput();
  request.job = Input{"job.yaml", import->text};
  const auto answer = answer_to(request, Callbacks{});
  ASSERT_TRUE(answer.ok()) << base::to_text(answer.error());
  const std::string text = exported_file(*answer, "run.sh");
  EXPECT_TRUE(text.starts_with("#!/usr/bin/env bash\n# Plan "));
  EXPECT_THAT(text, HasSubstr("\n: \"${ACTOR_PATH:?weights of the actor, a qwen3-4b"));
  EXPECT_THAT(text, HasSubstr("\n: \"${CRITIC_PATH:?"));
  EXPECT_THAT(text, HasSubstr("\nexec python3 -m verl.trainer.main_ppo \"${job[@]}\" \"${plan[@]}\" \"$@\"\n"));
  EXPECT_THAT(to_json(*answer), testing::Not(HasSubstr("base")));
  request.base.lengths = "lengths.csv";
  EXPECT_THAT(error_of(request), HasSubstr("--job cannot be combined with --gpu, --env or --lengths"));
}

TEST_F(Exporting, TrainerComesFromTheBaseOrTheJob) {
  ExportRequest request = request_for(bases()[1]);
  const auto import = trainers::import_run(request.base.path, bases()[1].content, request.base.import);
  const auto with_name = answer_to(request, Callbacks{});
  request.trainer.clear();
  const auto without = answer_to(request, Callbacks{});
  ASSERT_TRUE(without.ok()) << base::to_text(without.error());
  EXPECT_EQ(to_json(*without), to_json(*with_name));
  request.base = JobInput();
  request.job = Input{"job.yaml", import->text};
  const auto whole = answer_to(request, Callbacks{});
  ASSERT_TRUE(whole.ok()) << base::to_text(whole.error());
  EXPECT_EQ(whole->trainer, "verl");
  std::string free = import->text;
  free.replace(free.find("framework: verl"), std::string("framework: verl").size(), "framework: any");
  request.job = Input{"job.yaml", free};
  EXPECT_THAT(error_of(request), HasSubstr("names no framework to export to; give --to TRAINER"));
}

TEST_F(Exporting, RejectsImpossibleExports) {
  ExportRequest request = request_for(bases()[0]);
  request.trainer = "verk";
  EXPECT_THAT(error_of(request), HasSubstr("--to `verk`: unknown trainer; did you mean 'verl'"));
  request.trainer = "nemo-rl";
  EXPECT_THAT(error_of(request),
              HasSubstr("is a configuration of verl; accepted with --to nemo-rl: a configuration of nemo-rl"));
  request.trainer = "verl";
  request.job = Input{"job.yaml", "format: dovetail/job@1\n"};
  EXPECT_THAT(error_of(request), HasSubstr("give either --base FILE"));
  request.job.reset();
  std::string content = bases()[0].content;
  content.resize(content.find("\"$@\""));
  ASSERT_TRUE(base::write_file(request.base.path, content + "\n").ok());
  EXPECT_THAT(error_of(request), HasSubstr("does not use its arguments"));
}

}  // namespace
}  // namespace dovetail::answer
