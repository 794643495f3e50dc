// dovetail/plan@1: reading and writing plans.
//
// A plan is JSON that programs write, and that people may write by hand (YAML, too):
//
//   {"format": "dovetail/plan@1", "hash": "4f6a...",
//    "job": "ppo-7b", "job_hash": "90c1...", "placement": "co-located", "tasks": [
//     {"task": "actor_generate", "devices": "0-7", "layout": {"dp": 8},
//      "engine": {"memory_utilization": 0.6, "max_num_seqs": 256}},
//     {"task": "actor_train", "devices": "0-7", "layout": {"dp": 4, "tp": 2, "zero": 1, "recompute": "full"},
//      "micro_batch": {"tokens": 8192}, "offload": ["optimizer"]}],
//    "fusion": {"inter_stage": {"threshold": 0.2}, "intra_stage": {"tasks": ["actor_train", "critic_train"]}}}
//
// A plan that was read from a trainer's configuration has `not_modelled` besides (not_modelled.h), and so has one that
// is written for a job which was.
//
// `hash` is the SHA-256 of the file's other members as canonical JSON (canonical_json.h), `job_hash` that of the job
// that the plan was made for (job_canonical.h). Both may be missing, as may `job`, the job's name, `placement`, and
// `fusion` (fusion.h) or either part of it.
//
// | of a task   | value                                                                                               |
// |-------------|-----------------------------------------------------------------------------------------------------|
// | task        | its name in the workflow; each task but rules stands once, in any order                             |
// | devices     | "FIRST-LAST" or "DEVICE": the numbers of the cluster                                                |
// | layout      | the fields of llm::Layout (llm/layout.h); what is left out has its default                          |
// | micro_batch | of infer and train: one of sequences, tokens, count                                                 |
// | engine      | of generate: the fields of Engine (plan/task_plan.h)                                                |
// | offload     | a list of: weights, gradients, optimizer, optimizer_on_host                                         |
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::plan {

inline constexpr std::string_view plan_format = "dovetail/plan@1";

/// Reads a plan of `job`. Every mistake, also one that find_fault finds, or a hash that is not that of the file, is an
/// Error at its line and column. A plan that was made for another job is none: see is_for_another_job.
base::Result<Plan> parse_plan(std::string_view content, const std::string& path, const Job& job);

/// The same of a value in another file.
base::Result<Plan> read_plan(const base::Node& root, const Job& job);

/// The plan as JSON that parse_plan reads back to an equal one; what has its default is left out. The same plan gives
/// the same bytes. It says that it was made for `job`, whatever Plan::job_hash is, and has
/// what of the job is not modelled besides its own.
std::string plan_to_json(const Plan& plan, const Job& job);

}  // namespace dovetail::plan
