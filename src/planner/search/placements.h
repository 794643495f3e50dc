// The named placements: families of plans by where their tasks run. Descent that is stopped ends with the best so far.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "planner/space/trial.h"

namespace dovetail::planner {

/// Where tasks run.
enum class Placement {
  co_located,     ///< all on all devices, each in its own best layout (APP's flattening; DeepSpeed-Chat; RLHFuse-Base)
  interleaving,   ///< what is trained, and generation, on all devices, frozen models on halves of them (APP)
  disaggregated,  ///< training on some devices, generation and inference on the others, with copies of the trained
                  ///< models (APP's separation; OpenRLHF)
  megatron,       ///< all on all devices, tensor parallelism within nodes and pipelines across them (ReaL's heuristic)
  rlhfuse,        ///< co-located, in layouts that are chosen together with both stage fusions (fused_placement.h)
  searched,       ///< wherever it is best
};
/// Those that are known by their meshes alone.
inline constexpr Placement named_placements[] = {Placement::co_located, Placement::interleaving,
                                                 Placement::disaggregated, Placement::megatron};
inline constexpr Placement all_placements[] = {Placement::co_located, Placement::interleaving, Placement::disaggregated,
                                               Placement::megatron,   Placement::rlhfuse,      Placement::searched};

/// "co-located", "interleaving", "disaggregated", "megatron", "rlhfuse", "searched".
std::string_view name_of(Placement placement);

/// The meshes of the tasks, [way][task], in each way in which the placement may have them: of disaggregated every split
/// of the devices into two (both ways round where the cluster has several groups), none where there is none; of the
/// others one. Tasks whose mesh is pinned are where it says. A mesh may be none of the space's. REQUIRES: one of
/// named_placements.
std::vector<std::vector<cluster::Mesh>> meshes_of(const SearchSpace& space, Placement placement);

/// Tensor and pipeline degrees.
struct Degrees {
  int tensor = 1;
  int pipeline = 1;

  bool are_of(const llm::Layout& layout) const { return layout.tensor == tensor && layout.pipeline == pipeline; }
};
/// Those that all tasks have under the placement; nothing where each has its own.
std::optional<Degrees> degrees_of(const SearchSpace& space, Placement placement);

/// What descent looks for.
enum class Aim {
  cost,   ///< Score::cost
  excess  ///< to fit, then to be fast
};

/// Selection with the best choices that coordinate descent finds on the meshes_of() the placement, one for each way in
/// which all tasks have a choice. REQUIRES: one of named_placements.
std::vector<Selection> selection_of(const SearchSpace& space, Placement placement, Aim aim = Aim::cost);

/// Changes the choice of one task after the other, each to the best, for as long as that gains; meshes stay. Returns
/// what it scores.
Score improve_choices(const SearchSpace& space, Trial& trial, Selection& selection, Aim aim);

/// Bytes that plans may use of the smallest GPU: what scores measure an excess with.
std::int64_t min_memory(const SearchSpace& space);

}  // namespace dovetail::planner
