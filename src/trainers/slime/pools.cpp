#include "trainers/slime/pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "trainers/import/cluster_choice.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

struct Asked {
  std::int64_t nodes = 0;  ///< of the trainer
  std::int64_t per_node = 0;
  std::int64_t engines = 0;
  bool colocate = false;

  std::int64_t trainer() const { return nodes * per_node; }
  std::int64_t all() const { return colocate ? std::max(trainer(), engines) : trainer() + engines; }
};

base::Result<Asked> read_asked(const syntax::SettingTree& tree) {
  Asked asked;
  constexpr std::string_view engines_key = "--rollout-num-gpus";
  DOVETAIL_TRY(asked.nodes, count_at(tree, "--actor-num-nodes"));
  DOVETAIL_TRY(asked.per_node, count_at(tree, "--actor-num-gpus-per-node"));
  DOVETAIL_TRY(asked.colocate, flag_at(tree, "--colocate"));
  DOVETAIL_TRY(const auto engines, optional_whole(tree, engines_key));
  if (asked.nodes > max_devices || asked.per_node > max_devices || asked.trainer() > max_devices)
    return setting_error(tree, "--actor-num-nodes",
                         fmt::format("is too large; accepted: at most {} GPUs in all", max_devices));
  if (!engines && !asked.colocate)
    return setting_error(tree, engines_key, "is not given, and slime stops without --colocate; accepted: it, or both");
  asked.engines = engines.value_or(asked.trainer());
  if (asked.engines > max_devices || asked.all() > max_devices)
    return setting_error(tree, engines_key, fmt::format("is too large; accepted: at most {} GPUs in all", max_devices));
  return asked;
}

/// The GPUs of a node.
base::Result<std::int64_t> node_size(const syntax::SettingTree& tree, const Asked& asked) {
  DOVETAIL_TRY(const std::int64_t said, count_at(tree, "--num-gpus-per-node"));
  if (said > max_devices)
    return setting_error(tree, "--num-gpus-per-node", fmt::format("is {}; accepted: at most {}", said, max_devices));
  if (place_of(tree, "--num-gpus-per-node").line > 0) return std::max(said, asked.per_node);
  return asked.nodes > 1 ? asked.per_node : std::max(asked.per_node, std::min(asked.all(), usual_node));
}

}  // namespace

base::Result<SlimePools> slime_pools(const syntax::SettingTree& tree, const ImportOptions& options, ImportedRun& run) {
  DOVETAIL_TRY(std::optional<ClusterChoice> chosen, chosen_cluster(options));
  DOVETAIL_TRY(const Asked asked, read_asked(tree));
  DOVETAIL_TRY(std::int64_t node, node_size(tree, asked));
  if (chosen) node = chosen->gpus_per_node;
  SlimePools pools{.trainer = {.first = 0, .count = static_cast<int>(asked.trainer())},
                   .engines = {.first = 0, .count = static_cast<int>(asked.engines)}};
  std::int64_t all = asked.all();
  if (!asked.colocate) {
    std::int64_t first = asked.trainer();
    if (asked.engines > node - first % node && first % node != 0) {
      first += node - first % node;
      run.assumed.push_back({"--rollout-num-gpus",
                             fmt::format("{}: engines begin on a node of their own, as they take more than is left of "
                                         "the trainer's last",
                                         asked.engines),
                             place_of(tree, "--rollout-num-gpus")});
    }
    pools.engines.first = static_cast<int>(first);
    all = first + asked.engines;
  }
  const std::int64_t nodes = (all + node - 1) / node;
  if (!chosen) {
    DOVETAIL_CHECK(choose_gpu(options, nodes, node, run));
    return pools;
  }
  if (chosen->nodes < nodes)
    return base::bad_input(
        fmt::format("--cluster has {} nodes of {}, and trainer and engines take {} GPUs; accepted: "
                    "at least {} nodes",
                    chosen->nodes, node, all, nodes));
  run.cluster = *std::move(chosen);
  return pools;
}

}  // namespace dovetail::trainers
