// dovetail/plan@1: reading and writing plans.
//
// A plan is JSON that programs write, and that people may write by hand (YAML, too):
//
//   {"format": "dovetail/plan@1", "job": "ppo-7b", "placement": "co-located",
//    "tasks": [
//     {"task": "actor_generate", "devices": "0-7", "layout": {"dp": 8}, "engine": {"memory_utilization": 0.6, "max_num_seqs": 256}},
//     {"task": "actor_train", "devices": "0-7", "layout": {"dp": 4, "tp": 2, "zero": 1, "recompute": "full"},
//      "micro_batch": {"tokens": 8192}, "offload": ["optimizer"]}]}
//
// | of a task     | value                                                                                                             |
// |---------------|-------------------------------------------------------------------------------------------------------------------|
// | task          | its name in the workflow; each task but rules stands once, in any order                                          |
// | devices       | "FIRST-LAST" or "DEVICE": the numbers of the cluster                                                              |
// | layout        | dp, tp, pp, cp, ep, etp, vpp (1 each), zero (0), sequence_parallel (false), recompute (none, selective, full),    |
// |               | stage_layers (a list; as even as they go)                                                                         |
// | micro_batch   | of infer and train: one of sequences, tokens, count                                                               |
// | engine        | of generate: memory_utilization (0.9), max_num_seqs (256), max_num_batched_tokens (8192), cuda_graphs (true),     |
// |               | own_weights (true)                                                                                                |
// | offload       | a list of: weights, gradients, optimizer, optimizer_on_host                                                       |
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::plan {

inline constexpr std::string_view plan_format = "dovetail/plan@1";

/// Reads a plan of `job`. Every mistake, also one that find_fault finds, is an Error at its line and column.
base::Result<Plan> parse_plan(std::string_view content, const std::string& path, const Job& job);

/// The plan as JSON that parse_plan reads back to an equal one; what has its default is left out. The same plan gives the same bytes.
std::string plan_to_json(const Plan& plan, const Job& job);

}  // namespace dovetail::plan
