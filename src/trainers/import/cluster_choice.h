// The cluster that a user names beside a trainer's configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "trainers/import/options.h"

namespace dovetail::trainers {

/// A cluster as a job has it.
struct ClusterChoice {
  std::string text;  ///< the value of `cluster:`, in one line of YAML
  std::int64_t nodes = 0;
  std::int64_t gpus_per_node = 0;
};

/// What `--cluster` says: NODESxGPUSxTYPE, GPUSxTYPE, or a file with a `cluster`; nothing where it was not given. An
/// Error where it is none of them, or the file's nodes are not alike.
base::Result<std::optional<ClusterChoice>> chosen_cluster(const ImportOptions& options);

/// The GPU that counts where nobody says one.
inline constexpr const char* assumed_gpu = "H100-80";

/// That of a configuration with so many nodes, each of so many GPUs.
ClusterChoice plain_cluster(std::int64_t nodes, std::int64_t gpus_per_node, const std::string& gpu);

}  // namespace dovetail::trainers
