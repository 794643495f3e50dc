// The facts of one run in terms shared by all trainers, and the job and plan made from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "plan/task_plan.h"
#include "syntax/text.h"
#include "trainers/import/options.h"

namespace dovetail::trainers {

/// A statement about a setting or about the run.
struct Finding {
  std::string key;           ///< the trainer's key; empty: not about a single setting
  std::string what;          ///< the statement: "16: modeled as ..."
  syntax::Place place = {};  ///< place in a source; line 0: no source contains the setting

  bool operator==(const Finding&) const = default;
};

/// The model of a role.
struct ImportedModel {
  std::string role;
  std::string model;        ///< a bundled name, or the path of a config.json
  int lora = 0;             ///< rank of adapters; 0: the model itself is trained
  std::string config = {};  ///< contents of a config.json on one line, instead of `model`; only if `lora` is 0

  bool operator==(const ImportedModel&) const = default;
};

/// A task of the run, and how it runs.
struct ImportedTask {
  std::string task;  ///< name in the workflow
  plan::TaskPlan planned;
  bool other_backend = false;  ///< its backend differs from the actor's, so the job fixes its ZeRO stage

  bool operator==(const ImportedTask&) const = default;
};

/// The facts of one run. Counts are at least 1 unless stated otherwise.
struct ImportedRun {
  std::string name;              ///< name of the job
  std::string framework = {};    ///< framework as in jobs (plan/framework.h)
  std::string training;          ///< memory conventions (cost/conventions.h)
  plan::Software software = {};  ///< types and logits that differ from the conventions

  std::string algorithm;  ///< "ppo", "grpo", ... (workflow/algorithms.h)
  bool reference = false;
  bool reward_model = false;              ///< otherwise a rule computes rewards
  bool trainer_log_probabilities = true;  ///< an actor pass computes old log-probabilities; otherwise, the engine does
  std::vector<ImportedModel> models;      ///< models of the job's roles
  std::int64_t prompts = 0;               ///< per iteration
  std::int64_t samples_per_prompt = 1;
  std::int64_t mini_batch = 0;  ///< samples per optimizer step
  std::int64_t epochs = 1;
  std::int64_t critic_mini_batch = 0;  ///< samples per optimizer step of the critic, if different; otherwise 0
  std::int64_t critic_epochs = 0;      ///< epochs of the critic, if different; otherwise 0
  std::int64_t steps_off_policy = 0;   ///< 0: on-policy
  bool packing = true;
  std::int64_t prompt_cap = 0;    ///< tokens; all prompts have this length unless lengths are given
  std::int64_t response_cap = 0;  ///< tokens; all responses have this length unless lengths are given
  std::int64_t sequence_cap = 0;  ///< tokens of prompt and response; 0: the sum of both caps
  std::int64_t max_prompt = 0;    ///< cap of prompts with given lengths; 0: prompt_cap
  std::int64_t max_response = 0;  ///< cap of responses with given lengths; 0: response_cap
  bool open_prompts = false;      ///< prompts have no cap, so prompt_cap is an assumption
  ClusterChoice cluster;

  std::int64_t effective_prompt_cap() const { return max_prompt > 0 ? max_prompt : prompt_cap; }
  std::int64_t effective_response_cap() const { return max_response > 0 ? max_response : response_cap; }

  std::vector<ImportedTask> tasks;

  std::vector<Finding> assumed;       ///< values that the configuration does not set
  std::vector<Finding> ignored;       ///< settings that the trainer lacks, or accepts without effect
  std::vector<Finding> not_modelled;  ///< effects on time or memory that job and plan cannot express
};

/// Returns the run as dovetail/job@1 in YAML. The user's lengths get the caps of the run, unless they have their own,
/// and workflow::default_sigma if they lack a spread. Unspecified lengths default to their cap. Returns an Error if a
/// length in `options` is malformed, or if prompts leave no tokens for responses.
base::Result<std::string> job_text(const ImportedRun& run, const ImportOptions& options);

/// Records in `assumed` that a length option with one statistic, such as mean=900, is read with
/// workflow::default_sigma as its spread.
void assume_spreads(const ImportOptions& options, ImportedRun& run);

/// Returns an Error if the lengths in `options`, as parsed into `workload`, exceed the caps of the run.
base::Status check_given_lengths(const ImportedRun& run, const ImportOptions& options,
                                 const workflow::Workload& workload);

/// Returns the plan of the run for `job`, which was parsed from job_text(run). Returns an Error if the run lacks a task
/// of the job's workflow that is not a rule, or if the tasks do not form a valid plan.
base::Result<plan::Plan> plan_of(const ImportedRun& run, const plan::Job& job);

}  // namespace dovetail::trainers
