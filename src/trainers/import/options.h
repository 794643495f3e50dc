// Options that accompany a trainer's configuration, and the cluster that they name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/gpu.h"

namespace dovetail::trainers {

struct ImportOptions {
  std::optional<std::string> gpu = std::nullopt;      ///< GPU type of all nodes
  std::optional<std::string> cluster = std::nullopt;  ///< "2x8xH100", "8xH100", or a file with a `cluster`
  std::vector<std::string> environment = {};          ///< "NAME=VALUE", for launch scripts
  std::vector<std::string> arguments = {};  ///< arguments ("$@") of a launch script; overrides of a configuration
  std::optional<std::string> root = std::nullopt;             ///< only files below this folder are read
  std::vector<std::string> models = {};                       ///< "ROLE=NAME" or "ROLE=PATH"
  std::optional<std::string> prompt_length = std::nullopt;    ///< "mean=120,p90=400", "file=lengths.csv", or a number
  std::optional<std::string> response_length = std::nullopt;  ///< same form as prompt_length

  bool operator==(const ImportOptions&) const = default;
};

/// Returns the number of tokens in a length option. Returns nullopt if the option is missing, or if it gives statistics
/// or a file.
std::optional<std::int64_t> plain_length(const std::optional<std::string>& given);

/// A cluster for a job.
struct ClusterChoice {
  std::string text;  ///< value of `cluster:` in one line of YAML
  std::int64_t nodes = 0;
  std::int64_t gpus_per_node = 0;
};

/// Parses `--cluster`: NODESxGPUSxTYPE, GPUSxTYPE, or a file with a `cluster`. Returns nullopt if it is not given.
/// Returns an Error if it is malformed, if the nodes in the file differ, or if `--gpu` is also given.
base::Result<std::optional<ClusterChoice>> chosen_cluster(const ImportOptions& options);

/// Finds the GPU that `--gpu` or `--cluster` names. The Error for an unknown name also says how to specify other GPUs.
base::Result<cluster::Gpu> gpu_of_option(std::string_view name);

/// GPU type assumed without `--gpu` and `--cluster`.
inline constexpr const char* assumed_gpu = "H100-80";

/// Returns a cluster of identical nodes.
ClusterChoice plain_cluster(std::int64_t nodes, std::int64_t gpus_per_node, const std::string& gpu);

}  // namespace dovetail::trainers
