// Plan files (dovetail/plan@1).
//
// Programs write plans as JSON. People may also write them as YAML.
//
//   {"format": "dovetail/plan@1", "hash": "4f6a...",
//    "job": "ppo-7b", "job_hash": "90c1...", "placement": "co-located", "tasks": [
//     {"task": "actor_generate", "devices": "0-7", "layout": {"dp": 8},
//      "engine": {"memory_utilization": 0.6, "max_num_seqs": 256}},
//     {"task": "actor_train", "devices": "0-7", "layout": {"dp": 4, "tp": 2, "zero": 1, "recompute": "full"},
//      "micro_batch": {"tokens": 8192}, "offload": ["optimizer"]}],
//    "fusion": {"inter_stage": {"threshold": 0.2}, "intra_stage": {"tasks": ["actor_train", "critic_train"]}}}
//
// If a plan, or the job that it was written for, was read from a trainer's configuration with unmodeled settings, the
// plan lists them in `not_modelled` (see NotModelled).
//
// `hash` is the SHA-256 of the file's other members as canonical JSON (base/hash.h). `job_hash` is the hash of the
// job that the plan was made for (see job_hash). Optional members: both hashes, `job` (the job's name), `placement`,
// and `fusion` (fusion.h) with either or both of its members.
//
// | key of a task | value                                                                                             |
// |---------------|---------------------------------------------------------------------------------------------------|
// | task          | its name in the workflow; each task except rules appears once, in any order                       |
// | devices       | "FIRST-LAST" or "DEVICE": device numbers of the cluster                                           |
// | layout        | the fields of llm::Layout (llm/layout.h); missing fields have their defaults                      |
// | micro_batch   | infer and train tasks: one of sequences, tokens, count                                            |
// | engine        | generate tasks: the fields of Engine (plan/task_plan.h)                                           |
// | offload       | a list of: weights, gradients, optimizer, optimizer_on_host                                       |
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::plan {

inline constexpr std::string_view plan_format = "dovetail/plan@1";

/// Reads a plan of `job`. Every mistake is an Error at its line and column, including faults that find_fault finds and
/// a hash that does not match the file. A plan that was made for another job is not an error: see is_for_another_job.
base::Result<Plan> parse_plan(std::string_view content, const std::string& path, const Job& job);

/// Reads a plan that is part of another file, at `root`. Errors as in parse_plan.
base::Result<Plan> read_plan(const base::Node& root, const Job& job);

/// Returns the plan as JSON that parse_plan reads back to an equal plan. Except for `dp`, task settings that equal
/// their defaults are left out. The members `job` and `job_hash` describe `job`, regardless of Plan::job_hash. The
/// unmodeled settings of both the plan and the job are included. The result depends only on the arguments.
std::string plan_to_json(const Plan& plan, const Job& job);

/// Reads the value of `not_modelled: [{key: KEY, what: SENTENCE}]`. `key` is optional. Every mistake is an Error at its
/// line and column.
base::Result<std::vector<NotModelled>> read_not_modelled(const base::Node& node);

/// Returns the settings as a JSON list that read_not_modelled reads back, with one setting on each line.
std::string not_modelled_json(const std::vector<NotModelled>& settings);

}  // namespace dovetail::plan
