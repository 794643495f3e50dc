// Job files (dovetail/job@1).
//
//   format: dovetail/job@1
//   name: ppo-7b                       # default: the file's name without its extension
//   folder: ..                         # base of relative paths (job_text.h); default: the folder of the file
//   algorithm: ppo                     # workflow/workflow_file.h
//   models:                            # one for each role:
//     actor: llama-2-7b                # a bundled model,
//     critic: models/critic            # the path of a config.json or of a folder with one,
//     reward: {model_type: llama, ...} # or the contents of a config.json
//   workload: {...}                    # workflow/workflow_file.h
//   cluster: {...}                     # cluster/cluster_file.h, or the path of a file with a cluster
//   software: {training: megatron, efficiency: h100/megatron-vllm}   # optional, see below
//   limits: {margin: 5%}               # optional: minimum memory margin of each device
//   fixed:                             # optional: settings that every plan of the job must have
//     placement: [co-located]          # names of the placements to search
//     fusion: {inter_stage: true}      # fusions that are required or excluded (plan_members.h)
//     actor_train: {devices: 0-7, layout: {tp: 4, zero: 1}, micro_batch: {count: 8}}  # any keys of a task in a plan
//   train: {...}                       # optional: settings of runs (control/run_settings.h), ignored by planning
//
// `software` has the members of Software (job.h). `efficiency` is the name of a bundled set, or the path of a .json or
// .yaml file. With `profile: FILE`, measured layers replace the roofline model (cost/profile.h). With `prefetch: true`,
// host transfers may overlap other tasks (host_transfers.h). With `framework: NAME`, plans are limited to those that
// the framework can run (framework.h).
//
// A model may also be a map {model: NAME or PATH, lora: RANK}. Training then updates adapters of that rank on all
// projections, instead of the weights. A role without a model uses the model of the role that it is initialized or
// averaged from, without adapters. An averaged role needs a model of the same shape as the role that it averages. The
// head of the role replaces the model's head.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "plan/job.h"

namespace dovetail::plan {

inline constexpr std::string_view job_format = "dovetail/job@1";

/// Reads a job from YAML or JSON text. `path` appears in messages, and determines the job's folder and default name.
/// Every mistake is an Error at its line and column.
base::Result<Job> parse_job(std::string_view content, const std::string& path);

/// Reads a job that is part of another file, at `root`. `path` is the path of that file. If the job names no framework,
/// or "any" (framework.h), it gets `framework`, unless this is empty. Errors as in parse_job.
base::Result<Job> read_job(const base::Node& root, const std::string& path, std::string_view framework = {});

/// Reads the value of `fixed` into `job`, whose other members are already read. Every mistake is an Error at its line
/// and column, including faults that find_fault finds in a task's fixed settings.
base::Status read_fixed(const base::Node& node, Job& job);

/// Reads `limits: {margin: 5%}` or `{margin: 4GiB}` of a job. A share is from 0% to 90%, and an amount is 0 or at least
/// 1 MB. Every mistake is an Error at its line and column.
base::Result<Limits> read_limits(const base::Node& node);

}  // namespace dovetail::plan
