// The `algorithm` and `workload` of job files.
//
// `algorithm` is a name, a map with a name and options, or a map with a custom graph:
//
//   algorithm: ppo
//   algorithm: {name: grpo, reward: rule, reward_seconds: 0.1, reference: skip}
//
// | option                   | value                                             | default                            |
// |--------------------------|---------------------------------------------------|------------------------------------|
// | name                     | ppo, grpo, reinforce++, remax, dpo, reward_model, | required                           |
// |                          | sft                                               |                                    |
// | reference                | skip (not for dpo), pass, averaged (a moving      | pass                               |
// |                          | average of the actor)                             |                                    |
// | reference_decay          | decay of that average, from 0 to below 1; only    | 0.99                               |
// |                          | with `averaged`                                   |                                    |
// | reward                   | model, rule (a verifier without a model)          | model                              |
// | reward_seconds           | time of the rule for one sample; only with `rule` | 0                                  |
// | policy_log_probabilities | trainer (a pass of the actor), engine (returned   | engine; trainer for grpo and       |
// |                          | by generation)                                    | reinforce++                        |
// | ptx_tokens               | pretraining tokens in an epoch of the actor's     | 0                                  |
// |                          | training                                          |                                    |
//
// dpo accepts only name, reference, reference_decay and ptx_tokens. reward_model and sft accept only name.
//
//   algorithm:
//     roles:
//       - {name: actor}
//       - {name: reference, initialised_from: actor}
//     tasks:
//       - {name: actor_generate, kind: generate, role: actor, inputs: [prompts], outputs: [responses]}
//       - {name: check, kind: rule, seconds: 0.1, inputs: [responses], outputs: [rewards]}
//       - {name: reference_infer, kind: infer, role: reference, inputs: [prompts, responses],
//          outputs: [reference_log_probabilities]}
//       - {name: actor_train, kind: train, role: actor, inputs: [responses, rewards, reference_log_probabilities]}
//
// | key of a role    | value                                                                        | default         |
// |------------------|------------------------------------------------------------------------------|-----------------|
// | name             | name that no other role has                                                  | required        |
// | head             | language_model, scalar                                                       | language_model  |
// | initialised_from | role whose weights it starts with                                            | its own weights |
// | averaged_from    | trained role that it is a moving average of; needs `decay`, from 0 to        | not an average  |
// |                  | below 1                                                                      |                 |
//
// | key of a task | value                                                         | default  |
// |---------------|---------------------------------------------------------------|----------|
// | name          | name that no other task has                                   | required |
// | kind          | generate, infer, train, rule                                  | required |
// | role          | role whose model runs it; not allowed for rules               | required |
// | inputs        | keys that it reads; the dataset has those that no task writes | none     |
// | outputs       | keys that it writes                                           | none     |
// | sequences     | number of sequences for each sample or prompt (see `per`)     | 1        |
// | per           | unit that `sequences` counts for: sample, prompt              | sample   |
// | extra_tokens  | train tasks: pretraining tokens in an epoch                   | 0        |
// | seconds       | rules: time for one sequence                                  | 0        |
//
// `workload` is a map:
//
//   workload:
//     prompts: 128
//     samples_per_prompt: 16
//     mini_batch: 512
//     prompt_length: 100
//     response_length: {mean: 1060, sigma: 0.8, cap: 4096}
//
// | key                | value                                                                             | default  |
// |--------------------|-----------------------------------------------------------------------------------|----------|
// | prompts            | prompts in an iteration; prompts x samples_per_prompt is at most 16,777,216       | required |
// | samples_per_prompt | responses for each prompt; preference pairs for dpo and reward_model              | 1        |
// | mini_batches       | optimizer steps in an epoch, at most one per sample; excludes `mini_batch`        | 1        |
// | mini_batch         | samples in an optimizer step, a divisor of prompts x samples_per_prompt           | all      |
// | epochs             | passes over the samples in an iteration                                           | 1        |
// | critic             | map with any of mini_batches, mini_batch, epochs, for the critic only             | as above |
// | prompt_length      | distribution of prompt lengths in tokens (lengths_file.h)                         | required |
// | response_length    | distribution of response lengths, generated or from the dataset                   | required |
// | steps_off_policy   | number of iterations by which the generating weights may lag                      | 0        |
// | sequence_cap       | maximum tokens of prompt and response together, more than any prompt has          | none     |
// | packing            | true: sequences are packed without padding; false: inference and training pad     | true     |
// |                    | each sequence to the maximum length                                               |          |
#pragma once

#include <string>

#include "base/document.h"
#include "base/result.h"
#include "workflow/workflow.h"
#include "workflow/workload.h"

namespace dovetail::workflow {

/// Reads the value of `algorithm`. Every mistake is an Error at its line and column.
base::Result<Workflow> read_algorithm(const base::Node& node);

/// Reads the value of `workload`. Relative paths to length tables are resolved from `directory` (empty: the working
/// directory). Every mistake is an Error at its line and column.
base::Result<Workload> read_workload(const base::Node& node, const std::string& directory);

}  // namespace dovetail::workflow
