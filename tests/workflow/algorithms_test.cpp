#include "workflow/algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace dovetail::workflow {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Workflow made(std::string_view name) { return find_algorithm(name)->make(find_algorithm(name)->defaults); }
Workflow made(std::string_view name, const AlgorithmOptions& options) { return find_algorithm(name)->make(options); }

std::vector<std::string> named(const auto& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

/// Data edges as "from -> to".
std::vector<std::string> edges_of(const Workflow& workflow) {
  std::vector<std::string> edges;
  for (const DataEdge& edge : workflow.data_edges)
    edges.push_back(workflow.tasks[edge.from.index()].name + " -> " + workflow.tasks[edge.to.index()].name);
  return edges;
}

/// Version edges as "train -> use", with the iterations if there is more than one.
std::vector<std::string> versions_of(const Workflow& workflow, int steps_off_policy = 0) {
  std::vector<std::string> edges;
  for (const VersionEdge& edge : version_edges(workflow, steps_off_policy)) {
    edges.push_back(workflow.tasks[edge.train.index()].name + " -> " + workflow.tasks[edge.use.index()].name);
    if (edge.iterations > 1) edges.back() += " +" + std::to_string(edge.iterations);
  }
  return edges;
}

const Task& task_of(const Workflow& workflow, std::string_view name) {
  return workflow.tasks[find_task(workflow, name).value().index()];
}
const Role& role_of(const Workflow& workflow, std::string_view name) {
  return workflow.roles[find_role(workflow, name).value().index()];
}

TEST(Ppo, HasTheTasksAndEdgesOfReaL) {
  const Workflow workflow = made("ppo");
  EXPECT_EQ(workflow.name, "ppo");
  EXPECT_THAT(named(workflow.roles), ElementsAre("actor", "reward", "reference", "critic"));
  EXPECT_THAT(named(workflow.tasks), ElementsAre("actor_generate", "reward_infer", "reference_infer", "critic_infer",
                                                 "actor_train", "critic_train"));
  EXPECT_THAT(edges_of(workflow),
              UnorderedElementsAre(
                  "actor_generate -> reward_infer", "actor_generate -> reference_infer",
                  "actor_generate -> critic_infer", "actor_generate -> actor_train", "reward_infer -> actor_train",
                  "reference_infer -> actor_train", "critic_infer -> actor_train", "actor_generate -> critic_train",
                  "reward_infer -> critic_train", "reference_infer -> critic_train", "critic_infer -> critic_train"));
  EXPECT_THAT(dataset_keys(workflow), ElementsAre("prompts"));
  EXPECT_THAT(versions_of(workflow),
              UnorderedElementsAre("actor_train -> actor_generate", "actor_train -> actor_train",
                                   "critic_train -> critic_infer", "critic_train -> critic_train"));
  EXPECT_THAT(versions_of(workflow, 1),
              UnorderedElementsAre("actor_train -> actor_generate +2", "actor_train -> actor_train",
                                   "critic_train -> critic_infer", "critic_train -> critic_train"));
  EXPECT_EQ(role_of(workflow, "critic").head, Head::scalar);
  EXPECT_EQ(role_of(workflow, "critic").initialised_from, "reward");
  EXPECT_EQ(role_of(workflow, "reward").head, Head::scalar);
  EXPECT_EQ(role_of(workflow, "reference").head, Head::language_model);
  EXPECT_EQ(role_of(workflow, "reference").initialised_from, "actor");
}

TEST(Ppo, OptionsAddAndRemoveTasks) {
  AlgorithmOptions options;
  options.reference = ReferenceUse::skip;
  options.reward = RewardUse::rule;
  options.reward_time = base::Ticks(100'000'000);
  options.policy_log_probabilities = LogProbabilities::trainer;
  options.ptx_tokens = 5000;
  const Workflow workflow = made("ppo", options);
  EXPECT_THAT(named(workflow.roles), ElementsAre("actor", "critic"));
  EXPECT_THAT(named(workflow.tasks), ElementsAre("actor_generate", "reward_rule", "actor_infer", "critic_infer",
                                                 "actor_train", "critic_train"));
  EXPECT_EQ(role_of(workflow, "critic").initialised_from, "actor");
  EXPECT_EQ(task_of(workflow, "reward_rule").kind, TaskKind::rule);
  EXPECT_EQ(task_of(workflow, "reward_rule").time_per_sequence, base::Ticks(100'000'000));
  EXPECT_EQ(task_of(workflow, "actor_train").extra_tokens, 5000);
  EXPECT_EQ(task_of(workflow, "critic_train").extra_tokens, 0);
}

TEST(Grpo, HasTwoPassesForLogProbabilities) {
  const Workflow workflow = made("grpo");
  EXPECT_THAT(named(workflow.roles), ElementsAre("actor", "reward", "reference"));
  EXPECT_THAT(edges_of(workflow),
              UnorderedElementsAre("actor_generate -> reward_infer", "actor_generate -> actor_infer",
                                   "actor_generate -> reference_infer", "actor_generate -> actor_train",
                                   "reward_infer -> actor_train", "actor_infer -> actor_train",
                                   "reference_infer -> actor_train"));
  EXPECT_THAT(versions_of(workflow, 1),
              UnorderedElementsAre("actor_train -> actor_generate +2", "actor_train -> actor_infer",
                                   "actor_train -> actor_train"))
      << "inference uses the weights that are trained next";
  EXPECT_EQ(named(made("reinforce++").tasks), named(workflow.tasks));
  EXPECT_EQ(made("reinforce++").name, "reinforce++");
}

TEST(Grpo, AnAveragedReferenceFollowsTheActor) {
  AlgorithmOptions options;
  options.reference = ReferenceUse::averaged;
  options.reference_decay = 0.95;
  const Workflow workflow = made("grpo", options);
  EXPECT_EQ(role_of(workflow, "reference").averaged_from, "actor");
  EXPECT_EQ(role_of(workflow, "reference").decay, 0.95);
  EXPECT_THAT(versions_of(workflow),
              UnorderedElementsAre("actor_train -> actor_generate", "actor_train -> reference_infer",
                                   "actor_train -> actor_train"));
}

TEST(Remax, GeneratesAndScoresTwice) {
  const Workflow workflow = made("remax");
  EXPECT_THAT(named(workflow.roles), ElementsAre("actor", "reward", "reference"));
  EXPECT_THAT(edges_of(workflow),
              UnorderedElementsAre("actor_generate -> reward_infer", "actor_generate_greedy -> reward_infer_greedy",
                                   "actor_generate -> reference_infer", "actor_generate -> actor_train",
                                   "reward_infer -> actor_train", "reward_infer_greedy -> actor_train",
                                   "reference_infer -> actor_train"));
  for (const char* greedy : {"actor_generate_greedy", "reward_infer_greedy"})
    EXPECT_EQ(task_of(workflow, greedy).sequences, (SequenceCount{SequenceCount::Per::prompt, 1})) << greedy;
  EXPECT_EQ(task_of(workflow, "actor_generate").sequences, (SequenceCount{SequenceCount::Per::sample, 1}));
  AlgorithmOptions by_rule;
  by_rule.reward = RewardUse::rule;
  EXPECT_THAT(named(made("remax", by_rule).roles), ElementsAre("actor", "reference"));
  EXPECT_TRUE(find_task(made("remax", by_rule), "reward_rule_greedy"));
}

TEST(WithoutGeneration, AlgorithmsTrainOnTheDataset) {
  const Workflow dpo = made("dpo");
  EXPECT_THAT(named(dpo.roles), ElementsAre("actor", "reference"));
  EXPECT_THAT(edges_of(dpo), ElementsAre("reference_infer -> actor_train"));
  EXPECT_THAT(dataset_keys(dpo), ElementsAre("pairs"));
  EXPECT_EQ(task_of(dpo, "actor_train").sequences, (SequenceCount{SequenceCount::Per::sample, 2}));
  EXPECT_FALSE(find_algorithm("dpo")->may_skip_reference);
  const Workflow reward = made("reward_model");
  EXPECT_THAT(named(reward.roles), ElementsAre("reward"));
  EXPECT_THAT(named(reward.tasks), ElementsAre("reward_train"));
  EXPECT_EQ(reward.roles.front().head, Head::scalar);
  const Workflow sft = made("sft");
  EXPECT_THAT(named(sft.tasks), ElementsAre("actor_train"));
  EXPECT_THAT(edges_of(sft), IsEmpty());
  EXPECT_THAT(versions_of(sft), ElementsAre("actor_train -> actor_train"));
}

TEST(Algorithms, AreValidUnderAllOptions) {
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_EQ(find_algorithm(algorithm.name), &algorithm);
    for (const ReferenceUse reference : {ReferenceUse::skip, ReferenceUse::pass, ReferenceUse::averaged})
      for (const RewardUse reward : {RewardUse::model, RewardUse::rule})
        for (const LogProbabilities policy : {LogProbabilities::trainer, LogProbabilities::engine}) {
          if (reference == ReferenceUse::skip && !algorithm.may_skip_reference) continue;
          AlgorithmOptions options;
          options.reference = reference;
          options.reward = reward;
          options.policy_log_probabilities = policy;
          const Workflow workflow = algorithm.make(options);
          EXPECT_EQ(workflow.name, algorithm.name);
          EXPECT_FALSE(find_fault(workflow.roles, workflow.tasks)) << algorithm.name;
          EXPECT_EQ(workflow.order.size(), workflow.tasks.size());
        }
  }
  EXPECT_EQ(find_algorithm("a2c"), nullptr);
}

}  // namespace
}  // namespace dovetail::workflow
