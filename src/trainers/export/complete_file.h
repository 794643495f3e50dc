// Complete configurations for a job, written without a base.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::trainers {

/// Facts of a job that trainers' configurations contain.
struct JobFacts {
  std::string algorithm;  ///< "ppo", "grpo", "reinforce++", "remax"
  std::string training;   ///< memory conventions (cost/conventions.h), which imply the backend
  bool critic = false;
  bool reference = false;
  bool reward_model = false;              ///< a reward model computes rewards; otherwise, a rule does
  bool trainer_log_probabilities = true;  ///< an actor pass computes old log-probabilities; otherwise, the engine does
  std::string actor_model;                ///< name of a bundled model
  std::string critic_model;
  std::string reward_model_name;
  llm::Transformer actor;  ///< shape of the actor
  std::int64_t prompts = 0;
  std::int64_t samples_per_prompt = 1;
  std::int64_t mini_batch = 0;  ///< samples per optimizer step
  std::int64_t epochs = 1;
  std::int64_t steps_off_policy = 0;
  bool packing = true;
  bool colocated = true;  ///< engines share GPUs with the trainer
  plan::EngineKind engine = plan::EngineKind::vllm;
  bool half_types = false;  ///< weights, gradients and moments are in bf16
  plan::LossEntropy loss_entropy = plan::LossEntropy::by_default;
  std::int64_t prompt_cap = 0;
  std::int64_t response_cap = 0;
  std::int64_t sequence_cap = 0;  ///< tokens of prompt plus response
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;

  /// Returns whether the sequence cap is less than the sum of the prompt and response caps.
  bool ends_together() const { return sequence_cap < prompt_cap + response_cap; }
  /// Returns whether Megatron is the training backend.
  bool megatron() const { return training.find("megatron") != std::string::npos; }
};

/// Returns the facts of a job and of the pools of its plan. Returns an Error if a file without a base cannot express
/// the job, for example because of adapters, models that are not bundled, different nodes, uneven mini-batches or most
/// `software` settings.
base::Result<JobFacts> facts_of(const plan::Job& job, const plan::Plan& plan);

/// The `software` settings that a trainer's files without a base can express.
struct ExpressibleSoftware {
  std::vector<plan::EngineKind> engines;
  bool half_types = false;
  bool loss_entropy = false;
};

/// Returns an Error if the trainer's files cannot express the job's software.
base::Status check_software(const JobFacts& facts, std::string_view trainer, const ExpressibleSoftware& expressible);

/// A value that only the user knows, given as an environment variable.
struct RequiredName {
  std::string name;          ///< "ACTOR_PATH"
  std::string what;          ///< description: "weights of the actor, a ...: a folder or a name on Hugging Face"
  std::string example = {};  ///< value with which the written file is read back as a check
};

/// A file for a job, without the settings of a plan.
struct CompleteFile {
  std::vector<RequiredName> required;
  std::vector<std::string> arguments = {};  ///< for a launch script: the job's arguments, quoted for a shell
  std::string command = {};                 ///< for a launch script: "python3 -m verl.trainer.main_ppo"
  std::string yaml = {};                    ///< for a configuration: its content, one line per value
};

/// Returns the variables for the weights of the job's models.
std::vector<RequiredName> required_models(const JobFacts& facts);

}  // namespace dovetail::trainers
