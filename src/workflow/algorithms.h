// The built-in algorithms as workflows.
//
// | name         | tasks (options add or remove some)                                                                 |
// |--------------|----------------------------------------------------------------------------------------------------|
// | ppo          | actor_generate -> reward_infer, reference_infer, critic_infer -> actor_train, critic_train         |
// | grpo         | actor_generate -> reward_infer, actor_infer, reference_infer -> actor_train                        |
// | reinforce++  | as grpo; only the normalization of advantages differs                                              |
// | remax        | actor_generate, actor_generate_greedy -> reward_infer, reward_infer_greedy, reference_infer ->     |
// |              | actor_train                                                                                        |
// | dpo          | reference_infer -> actor_train, over pairs                                                         |
// | reward_model | reward_train, over pairs                                                                           |
// | sft          | actor_train                                                                                        |
//
// Inputs and outputs follow ReaL's experiments (ppo, remax, dpo, reward_model, sft) and NeMo-RL (grpo).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/quantity.h"
#include "workflow/workflow.h"
#include "workflow/workload.h"

namespace dovetail::workflow {

/// Source of the reference's log-probabilities.
enum class ReferenceUse {
  skip,     ///< no reference (no KL term)
  pass,     ///< forward pass of a frozen copy of the actor
  averaged  ///< forward pass of a moving average of the actor
};
constexpr auto names_of(ReferenceUse) {
  return std::array{base::EnumName{"skip", ReferenceUse::skip}, base::EnumName{"pass", ReferenceUse::pass},
                    base::EnumName{"averaged", ReferenceUse::averaged}};
}

/// Source of rewards.
enum class RewardUse {
  model,  ///< reward model
  rule    ///< verifier program without a model
};
constexpr auto names_of(RewardUse) {
  return std::array{base::EnumName{"model", RewardUse::model}, base::EnumName{"rule", RewardUse::rule}};
}

/// Source of the generating policy's log-probabilities.
enum class LogProbabilities {
  trainer,  ///< forward pass of the actor, actor_infer
  engine    ///< returned by the generation engine
};
constexpr auto names_of(LogProbabilities) {
  return std::array{base::EnumName{"trainer", LogProbabilities::trainer},
                    base::EnumName{"engine", LogProbabilities::engine}};
}

struct AlgorithmOptions {
  ReferenceUse reference = ReferenceUse::pass;
  double reference_decay = 0.99;  ///< decay of the averaged reference (Role::decay), at least 0, less than 1
  RewardUse reward = RewardUse::model;
  base::Ticks reward_time;  ///< time in ns that the verifier of RewardUse::rule takes for one sample
  LogProbabilities policy_log_probabilities = LogProbabilities::engine;
  std::int64_t ptx_tokens = 0;  ///< pretraining tokens (PTX loss) in an epoch of the actor's training, at least 0

  friend bool operator==(const AlgorithmOptions&, const AlgorithmOptions&) = default;
};
template <std::same_as<AlgorithmOptions> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Choice;
  return base::fields<T>(field("reference", &T::reference, Choice{}),
                         field("reference_decay", &T::reference_decay, base::Number{0, max_decay},
                               {.applies = [](const T& options) { return options.reference == ReferenceUse::averaged; },
                                .only_with = "`reference: averaged`"}),
                         field("reward", &T::reward, Choice{}),
                         field("reward_seconds", &T::reward_time, base::Seconds{},
                               {.applies = [](const T& options) { return options.reward == RewardUse::rule; },
                                .only_with = "`reward: rule`"}),
                         field("policy_log_probabilities", &T::policy_log_probabilities, Choice{}),
                         field("ptx_tokens", &T::ptx_tokens, base::Integer{0, max_token_count}));
}

struct Algorithm {
  std::string_view name;
  std::string_view summary;
  AlgorithmOptions defaults;
  /// Keys of the AlgorithmOptions that the algorithm supports.
  std::vector<std::string_view> options;
  /// Whether the algorithm works without a reference.
  bool may_skip_reference = false;
  /// Makes the workflow. Unsupported options are ignored. REQUIRES: may_skip_reference is true, or the options do not
  /// skip the reference.
  Workflow (*make)(const AlgorithmOptions&) = nullptr;
};

/// Returns all algorithms, in the order of the table above.
const std::vector<Algorithm>& algorithms();

/// Returns the algorithm with this name, or nullptr.
const Algorithm* find_algorithm(std::string_view name);

}  // namespace dovetail::workflow
