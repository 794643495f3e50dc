// The named placements: families of plans that prescribe where tasks run. If stopped, coordinate descent returns the
// best selection so far.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "planner/space/trial.h"

namespace dovetail::planner {

/// Family of plans with common rules for where tasks run.
enum class Placement {
  /// All tasks on all devices, each in its best layout (DeepSpeed-Chat; RLHFuse-Base; the flattening strategy of APP,
  /// the adaptive placement and parallelism framework of arXiv 2312.11819).
  co_located,
  interleaving,  ///< trained models and generation on all devices, each frozen model on half of them (APP)
  /// Training on some devices, generation and inference on the others, with copies of the trained models (APP's
  /// separation; OpenRLHF). Inference that must run where its model is trained stays there.
  disaggregated,
  /// All tasks on all devices, tensor parallelism within nodes and pipelines across them (ReaL's heuristic).
  megatron,
  rlhfuse,   ///< co-located, with layouts chosen together with both stage fusions (rlhfuse_plan)
  searched,  ///< the best meshes that the search finds
};
/// Placements that prescribe only meshes and, for megatron, degrees.
inline constexpr Placement named_placements[] = {Placement::co_located, Placement::interleaving,
                                                 Placement::disaggregated, Placement::megatron};
inline constexpr Placement all_placements[] = {Placement::co_located, Placement::interleaving, Placement::disaggregated,
                                               Placement::megatron,   Placement::rlhfuse,      Placement::searched};

/// "co-located", "interleaving", "disaggregated", "megatron", "rlhfuse", "searched".
std::string_view name_of(Placement placement);

/// Returns the meshes of a placement, [variant][task]. Disaggregated has a variant for each split of the devices into
/// two meshes, in both orders if the cluster has several groups. It has none if no split exists. The other placements
/// have one variant. Pinned tasks are on their pinned mesh. The space may lack some of the meshes. REQUIRES:
/// `placement` is one of named_placements.
std::vector<std::vector<cluster::Mesh>> meshes_of(const SearchSpace& space, Placement placement);

/// Tensor and pipeline degrees.
struct Degrees {
  int tensor = 1;
  int pipeline = 1;

  bool are_of(const llm::Layout& layout) const { return layout.tensor == tensor && layout.pipeline == pipeline; }
};
/// Returns the degrees that the placement prescribes for all tasks. nullopt if it prescribes none.
std::optional<Degrees> degrees_of(const SearchSpace& space, Placement placement);

/// Objective of coordinate descent.
enum class DescentObjective {
  cost,   ///< Score::cost
  excess  ///< Score::excess first, then the cost
};

/// Returns the best selection that coordinate descent finds for each variant of meshes_of(). Leaves out variants in
/// which some task has no choice. REQUIRES: `placement` is one of named_placements.
std::vector<Selection> selection_of(const SearchSpace& space, Placement placement,
                                    DescentObjective objective = DescentObjective::cost);

/// Improves the choices of one task after the other, and of engines on one mesh together, until no change improves the
/// objective. Meshes stay as they are. Returns the final score.
Score improve_choices(const SearchSpace& space, Trial& trial, Selection& selection, DescentObjective objective);

/// Returns the bytes that plans may use on the smallest GPU, the unit in which Score::cost measures an excess.
std::int64_t min_memory(const SearchSpace& space);

}  // namespace dovetail::planner
