// Configurations that are made of a job alone: what a file says of it, in a trainer's own words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::trainers {

/// A job as trainers' configurations have it.
struct JobFacts {
  std::string algorithm;  ///< "ppo", "grpo", "reinforce++", "remax"
  std::string training;   ///< memory conventions, which tell the backend
  bool critic = false;
  bool reference = false;
  bool reward_model = false;              ///< else a rule judges
  bool trainer_log_probabilities = true;  ///< as ImportedRun has it
  std::string actor_model;                ///< a bundled name
  std::string critic_model;
  std::string reward_model_name;
  llm::Transformer actor;  ///< its shape
  std::int64_t prompts = 0;
  std::int64_t samples_per_prompt = 1;
  std::int64_t mini_batch = 0;  ///< samples of an optimizer step
  std::int64_t epochs = 1;
  std::int64_t steps_off_policy = 0;
  bool packing = true;
  bool colocated = true;  ///< engines share GPUs with the trainer
  plan::EngineKind engine = plan::EngineKind::vllm;
  bool half_types = false;  ///< weights, gradients and moments are in bf16
  plan::LossEntropy loss_entropy = plan::LossEntropy::usual;
  std::int64_t prompt_cap = 0;
  std::int64_t response_cap = 0;
  std::int64_t sequence_cap = 0;  ///< of prompt and response together
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;

  /// Whether prompt and response end before both have their caps.
  bool ends_together() const { return sequence_cap < prompt_cap + response_cap; }
  /// Whether Megatron trains.
  bool megatron() const { return training.find("megatron") != std::string::npos; }
};

/// The facts of a job and of the pools of its plan. An Error where they are none that trainers have: another algorithm,
/// adapters, a mini-batch that is no whole number of samples or the critic's own, types, logits or groups but bf16,
/// models of no bundled name, nodes that differ.
base::Result<JobFacts> facts_of(const plan::Job& job, const plan::Plan& plan);

/// What a trainer's files without a base can say of `software`.
struct SoftwareWords {
  std::vector<plan::EngineKind> engines;
  bool half_types = false;
  bool loss_entropy = false;
};

/// An Error where the job's software is not what the trainer's files can say.
base::Status check_said_software(const JobFacts& facts, std::string_view trainer, const SoftwareWords& words);

/// What only the user can say: a variable of the environment.
struct DemandedName {
  std::string name;          ///< "ACTOR_PATH"
  std::string what;          ///< "the actor's weights: a folder or a name on Hugging Face"
  std::string example = {};  ///< a value with which the file is read again
};

/// A file of a job that says nothing of plans yet.
struct WholeFile {
  std::vector<DemandedName> demanded;
  std::vector<std::string> words = {};  ///< of a launch script: of the job, quoted for a shell
  std::string command = {};             ///< of a launch script: "python3 -m verl.trainer.main_ppo"
  std::string yaml = {};                ///< of a configuration, with a line of its own for each value
};

/// The variables for the weights of the job's models.
std::vector<DemandedName> demanded_models(const JobFacts& facts);

}  // namespace dovetail::trainers
