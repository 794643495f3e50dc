#include "plan/task_plan.h"

#include <fmt/core.h>

#include "base/descriptor_file.h"

namespace dovetail::plan {

std::optional<std::string> find_fault(const MicroBatching& micro_batching) {
  const int given =
      (micro_batching.sequences > 0 ? 1 : 0) + (micro_batching.tokens > 0 ? 1 : 0) + (micro_batching.count > 0 ? 1 : 0);
  if (given == 1 && micro_batching.sequences >= 0 && micro_batching.tokens >= 0 && micro_batching.count >= 0)
    return std::nullopt;
  return "its micro-batches have no size or several sizes; accepted: one of sequences, tokens and count, greater than "
         "0";
}

std::optional<std::string> find_fault(const Engine& engine) {
  if (const auto fault = base::find_out_of_range(engine)) return "its engine's " + *fault;
  // vLLM has this requirement with and without chunked prefill. A trainer that generates has no token limit.
  if (engine.own_weights && engine.max_num_batched_tokens < engine.max_num_seqs)
    return fmt::format(
        "its engine's max_num_batched_tokens is {}; accepted: at least max_num_seqs ({}), because a decode step "
        "processes one token per sequence",
        engine.max_num_batched_tokens, engine.max_num_seqs);
  return std::nullopt;
}

std::optional<std::string> find_fault(const cluster::Mesh& mesh, const cluster::Cluster& cluster) {
  if (cluster::is_usable(cluster, mesh)) return std::nullopt;
  return fmt::format(
      "its devices {} to {} are not a mesh of the cluster's {} devices; accepted: devices of one node, or whole nodes, "
      "optionally with part of the node before or after them",
      mesh.first, mesh.first + mesh.count - 1, cluster::device_count(cluster));
}

}  // namespace dovetail::plan
