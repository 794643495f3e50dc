#include "answer/plans/alternatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "answer/plans/example_jobs.h"
#include "answer/plans/exporting.h"
#include "answer/plans/ranking.h"
#include "plan/plan_file.h"
#include "planner/rank/rank.h"
#include "predict/closed_form/software.h"
#include "support/effort.h"
#include "support/jobs.h"
#include "support/temporary_folder.h"
#include "trainers/export/change.h"
#include "trainers/export_run.h"

namespace dovetail::answer {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

/// A trainer's configuration of a small job.
struct Base {
  std::string file;
  std::string content;
};

const std::string verl =
    "#!/bin/bash\npython3 -m verl.trainer.main_ppo \\\n  algorithm.adv_estimator=grpo data.train_batch_size=128 \\\n"
    "  data.max_prompt_length=512 data.max_response_length=2048 \\\n  actor_rollout_ref.model.path=Qwen/Qwen3-4B \\\n"
    "  actor_rollout_ref.model.use_remove_padding=True \\\n  actor_rollout_ref.actor.ppo_mini_batch_size=64 \\\n"
    "  actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.use_kl_loss=True \\\n"
    "  'actor_rollout_ref.actor.strategy=fsdp2' \\\n"
    "  +actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.rollout.n=8 \\\n"
    "  actor_rollout_ref.rollout.name=vllm trainer.n_gpus_per_node=8 \\\n"
    "  actor_rollout_ref.actor.fsdp_config.optimizer_offload=True\n";

const std::string nemo_rl =
    "defaults: grpo_math_1B.yaml\ngrpo: {num_prompts_per_step: 64, num_generations_per_prompt: 8}\npolicy:\n"
    "  model_name: Qwen/Qwen3-4B\n  max_total_sequence_length: 2048\ncluster: {gpus_per_node: 8, num_nodes: 2}\n";

const std::string openrlhf =
    "#!/bin/bash\npython3 -m openrlhf.cli.train_ppo_ray \\\n  --actor.model_name_or_path Qwen/Qwen3-4B \\\n"
    "  --reward.remote_url rule.py \\\n  --vllm.num_engines 8 \\\n  --train.colocate_all \\\n  --vllm.enable_sleep \\\n"
    "  --ds.zero_stage 3 \\\n  --ds.packing_samples \\\n  --train.dynamic_batch_enable \\\n  --rollout.batch_size 128 "
    "\\\n"
    "  --rollout.n_samples_per_prompt 4 \\\n  --data.max_len 2048 \\\n  --ds.enable_sleep\n";

std::string slime(const std::string& pools) {
  return "#!/bin/bash\npython3 train.py --swiglu --num-layers 36 --hidden-size 2560 --ffn-hidden-size 9728 \\\n"
         "  --num-attention-heads 32 --kv-channels 128 --num-query-groups 8 --group-query-attention \\\n"
         "  --use-rotary-position-embeddings --disable-bias-linear --normalization RMSNorm --qk-layernorm \\\n"
         "  --vocab-size 151936 --hf-checkpoint /models/Qwen3-4B --num-rollout 100 --rollout-batch-size 32 \\\n"
         "  --n-samples-per-prompt 8 --rollout-max-response-len 4096 --rollout-max-prompt-len 1024 \\\n"
         "  --global-batch-size 128 --use-kl-loss --ref-load /models/ref --use-dynamic-batch-size \\\n"
         "  --max-tokens-per-gpu 9216 " +
         pools + "\n";
}

std::string roll(const std::string& trainer, const std::string& engines) {
  return "rollout_batch_size: 64\nprompt_length: 1024\nresponse_length: 3072\nnum_return_sequences_in_group: 8\n"
         "adv_estimator: grpo\npretrain: Qwen/Qwen3-4B\nactor_train:\n  model_args: {dtype: bf16}\n"
         "  training_args: {learning_rate: 1.0e-6, per_device_train_batch_size: 1, gradient_accumulation_steps: 16}\n"
         "  strategy_args:\n    strategy_name: megatron_train\n    strategy_config: {tensor_model_parallel_size: 2}\n"
         "  device_mapping: list(range(" +
         trainer +
         "))\n  infer_batch_size: 4\nactor_infer:\n  strategy_args:\n    strategy_name: vllm\n"
         "    strategy_config: {gpu_memory_utilization: 0.6, tensor_parallel_size: 2}\n  device_mapping: list(range(" +
         engines +
         "))\nreference:\n  strategy_args:\n    strategy_name: megatron_infer\n"
         "    strategy_config: {tensor_model_parallel_size: 2}\n  device_mapping: list(range(" +
         trainer + "))\n  infer_batch_size: 4\n";
}

const std::string areal =
    "cluster: {n_nodes: 1, n_gpus_per_node: 8}\nrollout:\n  backend: \"sglang:d4\"\n  consumer_batch_size: 64\n"
    "gconfig: {n_samples: 4, max_new_tokens: 1024}\nactor:\n  backend: fsdp:d4\n  path: Qwen/Qwen3-4B\n"
    "  mb_spec: {max_tokens_per_mb: 16384}\n  optimizer: {type: adam, lr: 1.7e-5}\n  kl_ctl: 0.01\n"
    "  ppo_n_minibatches: 2\nref:\n  backend: ${actor.backend}\n  path: ${actor.path}\n"
    "  mb_spec: {max_tokens_per_mb: 20480}\n  scheduling_strategy: {type: colocation, target: actor}\n"
    "sglang: {context_length: 32768, mem_fraction_static: 0.7}\ntrain_dataset: {batch_size: 64, max_length: 512}\n";

const std::vector<Base>& bases() {
  static const std::vector<Base> all{{"run.sh", verl},
                                     {"grpo.yaml", nemo_rl},
                                     {"run.sh", openrlhf},
                                     {"run.sh", slime("--actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate")},
                                     {"run.sh", slime("--actor-num-gpus-per-node 4 --rollout-num-gpus 4")},
                                     {"rlvr.yaml", roll("0,8", "0,8")},
                                     {"rlvr.yaml", roll("0,4", "4,8")},
                                     {"grpo.yaml", areal}};
  return all;
}

constexpr trainers::Allowed both{.backend = true, .mode = true};

std::vector<trainers::SwitchedBase> switched(const Base& base, trainers::Allowed allowed = both) {
  const auto all = trainers::switched_bases({base.file, base.content, example_import_options()}, allowed);
  EXPECT_TRUE(all.ok()) << base::to_text(all.error());
  return all.ok() ? *all : std::vector<trainers::SwitchedBase>();
}

std::vector<std::string> names_of(const std::vector<trainers::SwitchedBase>& all) {
  std::vector<std::string> names;
  for (const trainers::SwitchedBase& each : all) names.push_back(each.name);
  return names;
}

TEST(SwitchedBases, ListBackendsAndPoolsOfATrainer) {
  const std::vector<std::string> pools{"2 of 8 GPUs for engines", "4 of 8 GPUs for engines", "6 of 8 GPUs for engines"};
  EXPECT_THAT(names_of(switched(bases()[0])), ElementsAre("megatron"));
  EXPECT_THAT(names_of(switched(bases()[1])),
              ElementsAre("megatron", "8 of 16 GPUs for engines", "megatron, 8 of 16 GPUs for engines"));
  EXPECT_EQ(names_of(switched(bases()[2])), pools);
  EXPECT_EQ(names_of(switched(bases()[3])), pools);
  EXPECT_THAT(names_of(switched(bases()[4])),
              ElementsAre("engines share the trainer's GPUs", "2 of 8 GPUs for engines", "6 of 8 GPUs for engines"));
  EXPECT_THAT(names_of(switched(bases()[7], {.backend = true})), ElementsAre("megatron"));
  EXPECT_THAT(names_of(switched(bases()[7])), Contains("megatron, engines share the trainer's GPUs"));
  EXPECT_TRUE(switched(bases()[0], {.mode = true}).empty());
  EXPECT_TRUE(switched(bases()[2], {.backend = true}).empty());
}

TEST(SwitchedBases, RunTheSameJobWithTheNamedBackend) {
  int runs = 0;
  for (const Base& base : bases()) {
    const auto as_it_is = trainers::import_base({base.file, base.content, example_import_options()});
    ASSERT_TRUE(as_it_is.ok()) << base::to_text(as_it_is.error());
    for (const trainers::SwitchedBase& each : switched(base)) {
      if (!each.rejection.empty()) continue;
      SCOPED_TRACE(as_it_is->trainer + ": " + each.name + each.base.content);
      const auto import = trainers::import_base(each.base);
      ASSERT_TRUE(import.ok());
      EXPECT_EQ(trainers::difference_of(as_it_is->job, import->job), std::nullopt);
      const bool switches = each.name.starts_with("megatron") || each.name.starts_with("fsdp");
      EXPECT_EQ(import->job.software.training != as_it_is->job.software.training, switches);
      const bool apart = each.name.ends_with("for engines");
      const auto* const engines = trainers::find_planned(import->job, import->plan, "actor_generate");
      const auto* const trainer = trainers::find_planned(import->job, import->plan, "actor_train");
      if (apart || each.name.ends_with("GPUs")) {
        EXPECT_EQ(overlap(engines->mesh, trainer->mesh), !apart);
      }
      if (apart) {
        EXPECT_THAT(each.name, HasSubstr(std::to_string(engines->mesh.count) + " of "));
      }
      ++runs;
    }
  }
  EXPECT_GE(runs, 15);
}

/// Exports a plan of each switched base over the base.
void expect_exported(const Base& base, std::mt19937& random) {
  const trainers::ExportBase as_it_is{base.file, base.content, example_import_options()};
  const auto import = trainers::import_base(as_it_is);
  int left = test::effort(5);
  for (const trainers::SwitchedBase& each : switched(base)) {
    if (!each.rejection.empty() || --left < 0) continue;
    const auto target = trainers::import_base(each.base);
    ASSERT_TRUE(target.ok());
    const predict::Scenario scenario = predict::scenario_of(target->job, predict::software_of(target->job).value());
    planner::RankOptions quick = test::quick_options();
    quick.search.seed = random();
    const auto ranking = planner::rank_plans(scenario, quick);
    if (!ranking.ok() || ranking->plans.empty()) continue;
    const plan::Plan& plan = ranking->plans[random() % ranking->plans.size()].plan;
    const auto made = trainers::export_run(as_it_is, plan, import->trainer, each.changes);
    ASSERT_TRUE(made.ok()) << each.name << base::to_text(made.error()) << plan::plan_to_json(plan, target->job);
    std::vector<trainers::Change> changes;
    for (const trainers::RequiredChange& kept : made->changes) changes.push_back(kept.change);
    const auto is_it = [&](const std::vector<trainers::Change>& some) {
      const auto again = trainers::import_changed(as_it_is, *import, some);
      return again.ok() && again->job.software.training == target->job.software.training &&
             !trainers::difference_of(target->job, again->job) && trainers::run_equally(target->job, again->plan, plan);
    };
    EXPECT_TRUE(is_it(changes)) << each.name << made->content;
    for (std::size_t index = 0; index < changes.size(); ++index) {
      std::vector<trainers::Change> fewer = changes;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(index));
      EXPECT_FALSE(is_it(fewer)) << each.name << changes[index].set.key << made->content;
    }
  }
}

TEST(SwitchedBases, ExportToThePlanWithMinimalChanges) {
  std::mt19937 random(5);
  for (const Base& base : bases()) expect_exported(base, random);
}

TEST(SwitchedBases, RemoveSettingsOfTheOtherEngine) {
  const auto all = switched(bases()[0]);
  ASSERT_EQ(all.size(), 1U);
  const std::string& content = all.front().base.content;
  EXPECT_THAT(content, Not(HasSubstr("fsdp")));
  EXPECT_THAT(content, HasSubstr("model_engine=megatron"));
  EXPECT_THAT(content, HasSubstr("actor_rollout_ref.rollout.n=8"));
  // Switching back leaves nothing of Megatron.
  const Base megatron{"run.sh", content};
  const auto back = switched(megatron);
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back.front().name, "fsdp");
  EXPECT_THAT(back.front().base.content, Not(HasSubstr("megatron")));
}

TEST(SwitchedBases, RemoveOlderMegatronSettings) {
  const Base base{"run.sh",
                  "#!/bin/bash\npython3 -m verl.trainer.main_ppo --config-path=config \\\n"
                  "  --config-name='ppo_megatron_trainer.yaml' \\\n  algorithm.adv_estimator=grpo \\\n"
                  "  actor_rollout_ref.model.path=Qwen/Qwen3-4B actor_rollout_ref.rollout.name=vllm \\\n"
                  "  actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 trainer.n_gpus_per_node=8 \\\n  "
                  "data.max_response_length=1024 actor_rollout_ref.actor.use_dynamic_bsz=True $@\n"};
  const auto all = switched(base);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().rejection, "");
  EXPECT_THAT(all.front().base.content, Not(HasSubstr("megatron")));
}

class Alternatives : public testing::Test {
 protected:
  RankingRequest request_for(const Base& base, std::vector<std::string> allowed) {
    RankingRequest request;
    request.job = JobInput(folder_.write(base.file, base.content));
    request.job.import = example_import_options();
    request.job.import.root.reset();
    request.search.budget.chains = 1;
    request.search.budget.iterations = 2000;
    request.allowed = std::move(allowed);
    return request;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Alternatives, AnswersAndExportsTheFastestAlternative) {
  const Base slow{"rlvr.yaml", roll("0,4", "4,8")};
  const RankingRequest request = request_for(slow, {"backend,mode"});
  const auto answer = answer_to(request, Callbacks{});
  ASSERT_TRUE(answer.ok()) << base::to_text(answer.error());
  ASSERT_EQ(answer->alternatives.size(), 4U);
  EXPECT_EQ(answer->alternatives.front().name, "as configured");
  EXPECT_EQ(answer->alternatives[answer->chosen_alternative].name, "engines share the trainer's GPUs");
  for (const TriedAlternative& tried : answer->alternatives)
    EXPECT_TRUE(!tried.seconds || *tried.seconds >= *answer->alternatives[answer->chosen_alternative].seconds)
        << tried.name;
  EXPECT_THAT(to_json(*answer), HasSubstr("\"ways\""));
  const plan::Plan& plan = answer->ranking.plans.front().plan;
  const auto made = export_found(request.job, answer->scenario, plan, answer->switches);
  ASSERT_TRUE(made.ok()) << base::to_text(made.error());
  EXPECT_GT(made->base_seconds, made->seconds);

  ExportRequest later;
  later.base = request.job;
  later.plan = Input{"plan.json", plan::plan_to_json(plan, answer->scenario.job)};
  later.allowed = {"mode"};
  const auto again = answer_to(later, Callbacks{});
  ASSERT_TRUE(again.ok()) << base::to_text(again.error());
  EXPECT_THAT(again->content, HasSubstr("list(range(0, 8))"));
  later.allowed.clear();
  EXPECT_FALSE(answer_to(later, Callbacks{}).ok());
}

TEST_F(Alternatives, PrefersTheConfigurationUnlessAnAlternativeIsClearlyFaster) {
  RankingRequest request = request_for(bases()[7], {"backend"});
  const auto answer = answer_to(request, Callbacks{});
  ASSERT_TRUE(answer.ok()) << base::to_text(answer.error());
  ASSERT_EQ(answer->alternatives.size(), 2U);
  EXPECT_NEAR(*answer->alternatives[1].seconds, *answer->alternatives[0].seconds,
              0.02 * *answer->alternatives[0].seconds);
  EXPECT_EQ(answer->chosen_alternative, 0U);
  EXPECT_TRUE(answer->switches.empty());
  request.alternative = 2;
  const auto other = answer_to(request, Callbacks{});
  ASSERT_TRUE(other.ok()) << base::to_text(other.error());
  EXPECT_EQ(other->chosen_alternative, 1U);
  EXPECT_EQ(other->scenario.job.software.training, "megatron-policy");
  request.alternative = 3;
  EXPECT_THAT(answer_to(request, Callbacks{}).error().message, HasSubstr("--way 3: must be from 1 to 2"));
  request.allowed.clear();
  EXPECT_THAT(answer_to(request, Callbacks{}).error().message, HasSubstr("--way needs --allow"));
}

TEST_F(Alternatives, RejectsImpossibleSwitches) {
  const auto message = [this](const Base& base, std::vector<std::string> allowed) {
    const auto answer = answer_to(request_for(base, std::move(allowed)), Callbacks{});
    return answer.ok() ? std::string("taken") : answer.error().message;
  };
  EXPECT_THAT(message(bases()[0], {"backend,speed"}), HasSubstr("--allow `speed`: must be backend, mode"));
  EXPECT_THAT(message(bases()[0], {"mode"}), HasSubstr("supports no other mode for this job"));
  EXPECT_THAT(message({"job.yaml", "format: dovetail/job@1\n"}, {"mode"}),
              HasSubstr("--allow needs a launch script or configuration"));
}

}  // namespace
}  // namespace dovetail::answer
