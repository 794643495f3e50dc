// What the configuration of a trainer comes to: facts of one run, in words that all trainers share. A job and a plan
// are written from it (job_of.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/job.h"
#include "plan/task_plan.h"
#include "syntax/text.h"
#include "trainers/import/cluster_choice.h"

namespace dovetail::trainers {

/// A sentence about a setting.
struct Finding {
  std::string key;           ///< as the trainer calls it; empty: of no one setting
  std::string what;          ///< "16: counted as ..."
  syntax::Place place = {};  ///< in a source that was read; line 0: nobody wrote it

  bool operator==(const Finding&) const = default;
};

/// A model of a role.
struct ImportedModel {
  std::string role;
  std::string model;        ///< a bundled name, or the path of a config.json
  int lora = 0;             ///< rank of adapters; 0: the model itself is trained
  std::string config = {};  ///< in place of `model` and without adapters: what a config.json has, in one line

  bool operator==(const ImportedModel&) const = default;
};

/// How a task runs.
struct ImportedTask {
  std::string task;  ///< its name in the workflow
  plan::TaskPlan planned;
  bool other_backend = false;  ///< than the actor is trained by: its ZeRO stage is of that backend

  bool operator==(const ImportedTask&) const = default;
};

/// A run. Counts are at least 1 unless said otherwise.
struct ImportedRun {
  std::string name;              ///< of the job
  std::string framework = {};    ///< as jobs name it (plan/framework.h)
  std::string training;          ///< memory conventions (cost/conventions.h)
  plan::Software software = {};  ///< types and logits, where they are not those of the conventions

  std::string algorithm;  ///< "ppo", "grpo", ... (workflow/algorithms.h)
  bool reference = false;
  bool reward_model = false;              ///< else a rule judges
  bool trainer_log_probabilities = true;  ///< a pass of the actor; else the engine's are taken
  std::vector<ImportedModel> models;      ///< roles that a job names
  std::int64_t prompts = 0;               ///< in an iteration
  std::int64_t samples_per_prompt = 1;
  std::int64_t mini_batch = 0;  ///< samples in an optimizer step
  std::int64_t epochs = 1;
  std::int64_t critic_mini_batch = 0;  ///< of the critic where it is another; 0: it is not
  std::int64_t critic_epochs = 0;      ///< likewise
  std::int64_t steps_off_policy = 0;
  bool packing = true;
  std::int64_t prompt_cap = 0;    ///< tokens; all prompts have them where nobody says how long they are
  std::int64_t response_cap = 0;  ///< tokens; likewise of responses
  std::int64_t sequence_cap = 0;  ///< tokens of both together; 0: as many as both caps are
  std::int64_t max_prompt = 0;    ///< what ends prompts whose lengths are said; 0: prompt_cap
  std::int64_t max_response = 0;  ///< likewise of responses; 0: response_cap
  bool open_prompts = false;      ///< nothing ends prompts: prompt_cap is a guess
  ClusterChoice cluster;

  std::int64_t said_prompt_cap() const { return max_prompt > 0 ? max_prompt : prompt_cap; }
  std::int64_t said_response_cap() const { return max_response > 0 ? max_response : response_cap; }

  std::vector<ImportedTask> tasks;

  std::vector<Finding> assumed;       ///< what the configuration does not say
  std::vector<Finding> ignored;       ///< settings that the trainer accepts and that have no effect, or that it has not
  std::vector<Finding> not_modelled;  ///< what changes time or memory and is not in job or plan
};

}  // namespace dovetail::trainers
