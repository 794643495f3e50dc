// dovetail/job@1: reading jobs.
//
//   format: dovetail/job@1
//   name: ppo-7b                       # default: the file's name
//   folder: ..                         # optional: where the paths in it begin (job_folder.h); default: its own folder
//   algorithm: ppo                     # workflow/workflow_file.h
//   models:                            # of each role
//     actor: llama-2-7b                # a bundled model,
//     critic: models/critic            # a folder with a config.json, from the job's folder, or the path of one,
//     reward: {model_type: llama, ...} # or what such a file has
//   workload: {...}                    # workflow/workflow_file.h
//   cluster: {...}                     # cluster/cluster_file.h, or the path of a file that has it
//   software: {training: megatron, efficiency: h100/megatron-vllm}   # optional; efficiencies by name, or the path of a
//                                                                    # .json or .yaml file;
//                                    # with `profile: FILE` measured layers stand in for the roofline
//                                    # (cost/profile_file.h); with `prefetch: true` host transfers may go on beside
//                                    # other tasks (host_transfers.h); with `framework: NAME` plans are those that it
//                                    # runs (framework.h); types and logits as of Software (job.h)
//   fixed:                             # optional: what each plan of the job must have; the rest is searched
//     placement: [co-located]          # the names of the placements that may be looked at
//     actor_train: {devices: 0-7, layout: {tp: 4, zero: 1}, micro_batch: {count: 8}}  # any of what plans say
//   train: {...}                       # optional: how it is run (control/run_file.h); planning does not read it
//
// A model may also be a map {model: NAME or PATH, lora: RANK}, which trains adapters of that rank on all projections. A
// role that the job says nothing of has the model of the role that it is initialised or averaged from, without
// adapters; an average can have no other. Roles with a scalar head get it in place of the model's.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "plan/job.h"

namespace dovetail::plan {

inline constexpr std::string_view job_format = "dovetail/job@1";

/// Reads a job from YAML or JSON text. `path` is for messages, for the job's default name, and for the folder that it
/// lies in. Every mistake is an Error at its line and column.
base::Result<Job> parse_job(std::string_view content, const std::string& path);

/// The same of a value in another file, at `path`. `framework`: the one (framework.h) that a job has which names none.
base::Result<Job> read_job(const base::Node& root, const std::string& path, std::string_view framework = {});

}  // namespace dovetail::plan
