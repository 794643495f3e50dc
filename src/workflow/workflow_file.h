// The `algorithm` and `workload` of a job file.
//
// algorithm: NAME, or a map with a name and options, or a graph of one's own:
//
//   algorithm: ppo
//   algorithm: {name: grpo, reward: rule, reward_seconds: 0.1, reference: skip}
//
// | option                   | value                                             | default                            |
// |--------------------------|---------------------------------------------------|------------------------------------|
// | name                     | ppo, grpo, reinforce++, remax, dpo, reward_model, | required                           |
// |                          | sft                                               |                                    |
// | reference                | skip (not dpo), pass, averaged (a moving average  | pass                               |
// |                          | of the actor)                                     |                                    |
// | reference_decay          | of that average, from 0 to below 1; only with     | 0.99                               |
// |                          | `averaged`                                        |                                    |
// | reward                   | model, rule (a verifier, no model)                | model                              |
// | reward_seconds           | time of the rule for one sample; only with `rule` | 0                                  |
// | policy_log_probabilities | trainer (a pass of the actor), engine (generation | engine; trainer: grpo, reinforce++ |
// |                          | returns them)                                     |                                    |
// | ptx_tokens               | pretraining tokens in an epoch of the actor's     | 0                                  |
// |                          | training                                          |                                    |
//
// dpo takes reference, reference_decay and ptx_tokens; reward_model and sft take none.
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
// | of a role        | value                                                                        | default         |
// |------------------|------------------------------------------------------------------------------|-----------------|
// | name             | a word that no other role has                                                | required        |
// | head             | language_model, scalar                                                       | language_model  |
// | initialised_from | the role with whose weights it starts                                        | its own weights |
// | averaged_from    | the trained role of which it is a moving average, with `decay` from 0 to     | no average      |
// |                  | below 1                                                                      |                 |
//
// | of a task    | value                                                          | default  |
// |--------------|----------------------------------------------------------------|----------|
// | name         | a word that no other task has                                  | required |
// | kind         | generate, infer, train, rule                                   | required |
// | role         | whose model does it; not of a rule                             | required |
// | inputs       | keys that it reads; what no task writes comes from the dataset | none     |
// | outputs      | keys that it writes                                            | none     |
// | sequences    | how many it has for each `per`                                 | 1        |
// | per          | sample, prompt                                                 | sample   |
// | extra_tokens | of a train task: pretraining tokens in an epoch                | 0        |
// | seconds      | of a rule: time for one sequence                               | 0        |
//
// workload: a map:
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
// | prompts            | in an iteration; with samples_per_prompt at most 16,777,216 samples               | required |
// | samples_per_prompt | responses to each; pairs of them, where the algorithm is dpo or reward_model      | 1        |
// | mini_batches       | optimizer steps in an epoch, at most one for each sample; this or `mini_batch`    | 1        |
// | mini_batch         | samples in an optimizer step, a divisor of prompts x samples_per_prompt           | all      |
// | epochs             | how often an iteration trains on its samples                                      | 1        |
// | critic             | {mini_batches, mini_batch, epochs}, any: of the critic where they are others      | as above |
// | prompt_length      | a distribution of tokens (lengths_file.h)                                         | required |
// | response_length    | the same, of what is generated, or comes from the dataset                         | required |
// | steps_off_policy   | how many trainings old the weights that generate may be                           | 0        |
// | sequence_cap       | tokens of prompt and response together at most, more than any prompt has          | none     |
// | packing            | true: sequences fill rows; false: inference and training pad each to the longest  | true     |
// |                    | there may be                                                                      |          |
#pragma once

#include <string>

#include "base/document.h"
#include "base/result.h"
#include "workflow/workflow.h"
#include "workflow/workload.h"

namespace dovetail::workflow {

/// Reads the value of `algorithm`. Every mistake is an Error at its line and column.
base::Result<Workflow> read_algorithm(const base::Node& node);

/// Reads the value of `workload`; files of lengths are relative to `directory` (empty: the working directory). Every
/// mistake is an Error at its line and column.
base::Result<Workload> read_workload(const base::Node& node, const std::string& directory);

}  // namespace dovetail::workflow
