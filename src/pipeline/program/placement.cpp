#include "pipeline/program/placement.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace dovetail::pipeline {
namespace {

using base::Status;

/// Whether all replicas have the same number of stages and all stages the same number of ranks, at least one.
bool is_even(const ModelPlacement& placement) {
  if (placement.ranks.empty() || placement.ranks.front().empty() || placement.ranks.front().front().empty())
    return false;
  const auto has_width = [&](const std::vector<int>& ranks) {
    return ranks.size() == static_cast<std::size_t>(placement.tensor_parallel());
  };
  return std::all_of(placement.ranks.begin(), placement.ranks.end(), [&](const auto& replica) {
    return replica.size() == static_cast<std::size_t>(placement.stages()) &&
           std::all_of(replica.begin(), replica.end(), has_width);
  });
}

Status check_sizes(const Model& model, const ModelPlacement& placement, int groups) {
  if (placement.parts < 1 || !is_even(placement))
    return base::bad_input(
        fmt::format("model {} must have the same number of ranks on every stage, at least one", model.name));
  if (placement.stages() != model.stages() * placement.parts)
    return base::bad_input(
        fmt::format("model {} has ranks for {} stages; it must have {} ({} for each stage of the problem)", model.name,
                    placement.stages(), model.stages() * placement.parts, placement.parts));
  const int replicas = static_cast<int>(model.replicas.size()) * groups;
  if (placement.replicas() != replicas)
    return base::bad_input(fmt::format("model {} has ranks for {} replicas; it must have {} ({} in each of {} groups)",
                                       model.name, placement.replicas(), replicas, model.replicas.size(), groups));
  return {};
}

/// A device of one of the groups. A rank belongs to exactly one.
using Place = std::pair<int, DeviceId>;

Status put_rank(int rank, Place place, const Model& model, std::vector<std::optional<Place>>& places) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= places.size())
    return base::bad_input(fmt::format("model {} has a stage on rank {}; ranks must be from 0 to {}", model.name, rank,
                                       places.size() - 1));
  std::optional<Place>& known = places[static_cast<std::size_t>(rank)];
  if (known && *known != place)
    return base::bad_input(fmt::format(
        "rank {} is on device {} of group {} and, for model {}, on device {} of group {}; a rank must be on one device "
        "of one group",
        rank, known->second.value, known->first, model.name, place.second.value, place.first));
  known = place;
  return {};
}

}  // namespace

Placement rank_per_device(const Problem& problem) {
  Placement placement{.ranks = problem.devices, .groups = 1, .models = {}};
  for (const Model& model : problem.models) {
    ModelPlacement& own = placement.models.emplace_back();
    for (const std::vector<DeviceId>& replica : model.replicas) {
      auto& stages = own.ranks.emplace_back();
      for (const DeviceId device : replica) stages.push_back({device.value});
    }
  }
  return placement;
}

Placement placement_of(const FusedLayouts& fused) {
  const int width = fused.tensor_parallel;
  const int devices = fused.problem.devices;
  Placement placement{.ranks = fused.groups * devices * width, .groups = fused.groups, .models = {}};
  for (std::size_t m = 0; m < fused.problem.models.size(); ++m) {
    ModelPlacement& own = placement.models.emplace_back();
    own.parts = static_cast<int>(m) == fused.merged_model ? fused.merged_stages : 1;
    const int share = width / own.parts;
    for (int group = 0; group < fused.groups; ++group)
      for (const std::vector<DeviceId>& replica : fused.problem.models[m].replicas) {
        auto& stages = own.ranks.emplace_back();
        for (const DeviceId device : replica)
          for (int part = 0; part < own.parts; ++part) {
            std::vector<int>& ranks = stages.emplace_back();
            for (int i = 0; i < share; ++i)
              ranks.push_back((group * devices + device.value) * width + part * share + i);
          }
      }
  }
  return placement;
}

Status check_placement(const Problem& problem, const Placement& placement) {
  if (placement.models.size() != problem.models.size())
    return base::bad_input(fmt::format("ranks are given for {} models; the problem has {}", placement.models.size(),
                                       problem.models.size()));
  std::vector<std::optional<Place>> places(static_cast<std::size_t>(std::max(placement.ranks, 0)));
  for (std::size_t m = 0; m < problem.models.size(); ++m) {
    const Model& model = problem.models[m];
    const ModelPlacement& own = placement.models[m];
    DOVETAIL_CHECK(check_sizes(model, own, placement.groups));
    const std::size_t copies = model.replicas.size();
    for (std::size_t r = 0; r < own.ranks.size(); ++r)
      for (std::size_t s = 0; s < own.ranks[r].size(); ++s) {
        const Place place(static_cast<int>(r / copies),
                          model.replicas[r % copies][s / static_cast<std::size_t>(own.parts)]);
        for (const int rank : own.ranks[r][s]) DOVETAIL_CHECK(put_rank(rank, place, model, places));
        std::vector<int> sorted = own.ranks[r][s];
        std::sort(sorted.begin(), sorted.end());
        if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
          return base::bad_input(fmt::format("stage {} of model {} lists a rank twice", s, model.name));
      }
  }
  return {};
}

}  // namespace dovetail::pipeline
