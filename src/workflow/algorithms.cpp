#include "workflow/algorithms.h"

#include <algorithm>
#include <string>
#include <utility>

namespace dovetail::workflow {
namespace {

using Keys = std::vector<std::string>;
using Per = SequenceCount::Per;

constexpr SequenceCount per_sample{Per::sample, 1};
constexpr SequenceCount per_prompt{Per::prompt, 1};
constexpr SequenceCount pairs{Per::sample, 2};

const std::string old_log_probabilities = "old_log_probabilities";
const std::string reference_log_probabilities = "reference_log_probabilities";

Task task(std::string name, TaskKind kind, std::string role, Keys inputs, Keys outputs,
          SequenceCount sequences = per_sample) {
  return {.name = std::move(name),
          .kind = kind,
          .role = std::move(role),
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .sequences = sequences,
          .extra_tokens = 0,
          .time_per_sequence = {}};
}

Role role(std::string name, Head head = Head::language_model, std::string initialised_from = {}) {
  return {.name = std::move(name),
          .head = head,
          .initialised_from = std::move(initialised_from),
          .averaged_from = {},
          .decay = 0.0};
}

/// Collects the roles and tasks that algorithms share, in the order in which they run.
struct WorkflowBuilder {
  const AlgorithmOptions& options;
  std::vector<Role> roles{};
  std::vector<Task> tasks{};
  Keys known{};  ///< keys of the sampled responses that are available to training

  /// Generates responses to all prompts.
  void generate() {
    roles.push_back(role("actor"));
    known = {"prompts", "responses"};
    Keys outputs{"responses"};
    if (options.policy_log_probabilities == LogProbabilities::engine) {
      outputs.push_back(old_log_probabilities);
      known.push_back(old_log_probabilities);
    }
    tasks.push_back(task("actor_generate", TaskKind::generate, "actor", {"prompts"}, outputs));
  }

  /// Scores responses.
  void judge(const std::string& suffix = {}, SequenceCount sequences = per_sample) {
    const bool is_rule = options.reward == RewardUse::rule;
    const bool is_first = known.end() == std::find(known.begin(), known.end(), "rewards");
    if (!is_rule && is_first) roles.push_back(role("reward", Head::scalar));
    const Keys inputs{"prompts", "responses" + suffix};
    const Keys outputs{"rewards" + suffix};
    Task judgement = is_rule ? task("reward_rule" + suffix, TaskKind::rule, {}, inputs, outputs, sequences)
                             : task("reward_infer" + suffix, TaskKind::infer, "reward", inputs, outputs, sequences);
    if (is_rule) judgement.time_per_sequence = options.reward_time;
    known.push_back(outputs.front());
    tasks.push_back(std::move(judgement));
  }

  /// Computes old log-probabilities with the actor, unless the engine returns them.
  void infer_policy() {
    if (options.policy_log_probabilities == LogProbabilities::engine) return;
    tasks.push_back(task("actor_infer", TaskKind::infer, "actor", {"prompts", "responses"}, {old_log_probabilities}));
    known.push_back(old_log_probabilities);
  }

  void infer_reference(const Keys& inputs = {"prompts", "responses"}, SequenceCount sequences = per_sample) {
    if (options.reference == ReferenceUse::skip) return;
    Role reference = role("reference", Head::language_model, "actor");
    if (options.reference == ReferenceUse::averaged) {
      reference.averaged_from = "actor";
      reference.decay = options.reference_decay;
    }
    roles.push_back(std::move(reference));
    tasks.push_back(
        task("reference_infer", TaskKind::infer, "reference", inputs, {reference_log_probabilities}, sequences));
    known.push_back(reference_log_probabilities);
  }

  void train_actor(SequenceCount sequences = per_sample) {
    tasks.push_back(task("actor_train", TaskKind::train, "actor", known, {}, sequences));
    tasks.back().extra_tokens = options.ptx_tokens;
  }
};

Workflow make_ppo(const AlgorithmOptions& options) {
  WorkflowBuilder builder{options};
  builder.generate();
  builder.judge();
  builder.infer_policy();
  builder.infer_reference();
  // A critic learns to predict rewards, so it starts from the reward model if there is one.
  builder.roles.push_back(role("critic", Head::scalar, options.reward == RewardUse::model ? "reward" : "actor"));
  builder.tasks.push_back(task("critic_infer", TaskKind::infer, "critic", {"prompts", "responses"}, {"values"}));
  builder.known.emplace_back("values");
  builder.train_actor();
  builder.tasks.push_back(task("critic_train", TaskKind::train, "critic", builder.known, {}));
  return make_workflow("ppo", std::move(builder.roles), std::move(builder.tasks));
}

Workflow make_group_policy(const std::string& name, const AlgorithmOptions& options) {
  WorkflowBuilder builder{options};
  builder.generate();
  builder.judge();
  builder.infer_policy();
  builder.infer_reference();
  builder.train_actor();
  return make_workflow(name, std::move(builder.roles), std::move(builder.tasks));
}

Workflow make_grpo(const AlgorithmOptions& options) { return make_group_policy("grpo", options); }

Workflow make_reinforce(const AlgorithmOptions& options) { return make_group_policy("reinforce++", options); }

Workflow make_remax(const AlgorithmOptions& options) {
  WorkflowBuilder builder{options};
  builder.generate();
  // The baseline: the reward of the greedy response to each prompt.
  builder.tasks.push_back(
      task("actor_generate_greedy", TaskKind::generate, "actor", {"prompts"}, {"responses_greedy"}, per_prompt));
  builder.judge();
  builder.judge("_greedy", per_prompt);
  builder.infer_policy();
  builder.infer_reference();
  builder.train_actor();
  return make_workflow("remax", std::move(builder.roles), std::move(builder.tasks));
}

Workflow make_dpo(const AlgorithmOptions& options) {
  WorkflowBuilder builder{options};
  builder.roles.push_back(role("actor"));
  builder.known = {"pairs"};
  builder.infer_reference({"pairs"}, pairs);
  builder.train_actor(pairs);
  return make_workflow("dpo", std::move(builder.roles), std::move(builder.tasks));
}

Workflow make_reward_model(const AlgorithmOptions&) {
  return make_workflow("reward_model", {role("reward", Head::scalar)},
                       {task("reward_train", TaskKind::train, "reward", {"pairs"}, {}, pairs)});
}

Workflow make_sft(const AlgorithmOptions&) {
  return make_workflow("sft", {role("actor")},
                       {task("actor_train", TaskKind::train, "actor", {"prompts", "responses"}, {})});
}

std::vector<Algorithm> list_algorithms() {
  const std::vector<std::string_view> online = base::keys_of<AlgorithmOptions>();
  const std::vector<std::string_view> with_reference{base::key_of(&AlgorithmOptions::reference),
                                                     base::key_of(&AlgorithmOptions::reference_decay),
                                                     base::key_of(&AlgorithmOptions::ptx_tokens)};
  const AlgorithmOptions from_engine;
  AlgorithmOptions from_trainer;
  from_trainer.policy_log_probabilities = LogProbabilities::trainer;
  return {
      {"ppo", "proximal policy optimization with a critic", from_engine, online, true, make_ppo},
      {"grpo", "advantages relative to the other samples of a prompt, no critic", from_trainer, online, true,
       make_grpo},
      {"reinforce++", "advantages normalized over the batch, no critic", from_trainer, online, true, make_reinforce},
      {"remax", "reward of a greedy response as baseline, no critic", from_engine, online, true, make_remax},
      {"dpo", "preference pairs against a reference, no generation", from_engine, with_reference, false, make_dpo},
      {"reward_model", "reward model from preference pairs", from_engine, {}, true, make_reward_model},
      {"sft", "supervised fine-tuning", from_engine, {}, true, make_sft},
  };
}

}  // namespace

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> all = list_algorithms();
  return all;
}

const Algorithm* find_algorithm(std::string_view name) {
  const std::vector<Algorithm>& all = algorithms();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Algorithm& algorithm) { return algorithm.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace dovetail::workflow
