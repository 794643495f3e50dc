// How a model is split over the devices of its mesh, and which part each rank holds.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/descriptor.h"
#include "llm/tensors.h"
#include "llm/transformer.h"

namespace dovetail::llm {

/// Activations that the backward pass recomputes, so that they need not be stored.
/// - none: nothing.
/// - selective: attention only, which flash attention recomputes anyway.
/// - experts: in layers with experts, the whole feed-forward network from router to shared experts, except its input
///   (Megatron-LM's `recompute_modules: moe`).
/// - full: whole layers, except their inputs.
enum class Recomputation { none, selective, experts, full };
constexpr auto names_of(Recomputation) {
  return std::array{base::EnumName{"none", Recomputation::none, "nothing recomputed"},
                    base::EnumName{"selective", Recomputation::selective, "attention recomputed"},
                    base::EnumName{"experts", Recomputation::experts, "experts recomputed"},
                    base::EnumName{"full", Recomputation::full, "whole layers recomputed"}};
}

/// Limits of a parallel degree.
inline constexpr base::Integer degree_limits{1, 1 << 16};

/// Parallel degrees and related settings. The number of devices is data x context x tensor x pipeline. Experts are
/// spread over data x context x tensor.
struct Layout {
  int data = 1;
  int context = 1;  ///< parts into which each sequence is split
  int tensor = 1;
  int pipeline = 1;
  int virtual_stages = 1;  ///< chunks of layers on each pipeline stage (interleaved 1F1B)
  int expert = 1;          ///< number of groups that the experts of a layer are divided into
  int expert_tensor = 1;   ///< tensor-parallel degree within an expert
  int zero = 0;  ///< ZeRO stage over data x context (0: none, 1: optimizer, 2: also gradients, 3: also weights)
  bool sequence_parallel = false;  ///< also shards activations between tensor-parallel regions (arXiv 2205.05198)
  Recomputation recomputation = Recomputation::none;
  /// [pipeline stage] number of layers; empty: as even as possible, with the remainder on the first stages
  std::vector<int> stage_layers;

  int devices() const { return data * context * tensor * pipeline; }
  friend bool operator==(const Layout&, const Layout&) = default;
};
template <std::same_as<Layout> T>
constexpr auto fields_of(const T*) {
  using base::field;
  return base::fields<T>(field("dp", &T::data, degree_limits), field("tp", &T::tensor, degree_limits),
                         field("pp", &T::pipeline, degree_limits), field("cp", &T::context, degree_limits),
                         field("ep", &T::expert, degree_limits), field("etp", &T::expert_tensor, degree_limits),
                         field("vpp", &T::virtual_stages, degree_limits),
                         field("zero", &T::zero, base::Integer{0, 3}, {.phrase = "ZeRO stage {}"}),
                         field("sequence_parallel", &T::sequence_parallel, base::Flag{},
                               {.phrase = "sequence parallel", .otherwise = "not sequence parallel"}),
                         field("recompute", &T::recomputation, base::Choice{}, {.phrase = "{}"}),
                         field("stage_layers", &T::stage_layers,
                               base::IntegerList{"the number of layers of a stage", 0, max_layer_count}));
}

/// Calls `f` with the field of each parallel degree: an integer from 1. The ZeRO stage, which may be 0, is not a
/// degree.
template <class F>
void for_each_degree(F&& f) {
  base::for_each_field<Layout>([&f](const auto& each) {
    if constexpr (std::is_same_v<decltype(each.kind), base::Integer>)
      if (each.kind.min == degree_limits.min) f(each);
  });
}

/// Position of a device in a layout. Ranks count tensor first, then context, data, pipeline. With coordinates p, d, c,
/// t and degrees D, C, T, rank = ((p D + d) C + c) T + t. Megatron-LM and ReaL use the same order, which makes
/// tensor-parallel groups contiguous.
struct Coordinates {
  int pipeline = 0;
  int data = 0;
  int context = 0;
  int tensor = 0;

  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};
Coordinates coordinates_of(const Layout& layout, int rank);
int rank_of(const Layout& layout, const Coordinates& coordinates);

/// The group of experts that a rank holds, and the part of each expert that it holds. Both follow from the rank's
/// position in data x context x tensor: the part varies fastest, then the group, then the replica.
struct ExpertPlace {
  int group = 0;    ///< index of the group, below Layout::expert
  int part = 0;     ///< index of the part, below Layout::expert_tensor
  int replica = 0;  ///< index among the ranks with the same group and part
};
ExpertPlace expert_place(const Layout& layout, const Coordinates& coordinates);

/// Consecutive layers [begin, end) of a pipeline stage.
struct Chunk {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Returns the chunks of pipeline stage `stage`, in forward order: one, or virtual_stages of them. Chunk v of stage p
/// is chunk v * pipeline + p of the model. The embedding is with the first chunk of stage 0, the head with the last
/// chunk of the last stage. REQUIRES: find_fault finds no fault.
std::vector<Chunk> chunks_of(const Layout& layout, const Transformer& model, int stage);

/// Returns why `model` cannot have this layout, and what is accepted; nullopt if it can.
std::optional<std::string> find_fault(const Layout& layout, const Transformer& model);

/// The part of a tensor that a rank holds, before ZeRO shards it further.
struct HeldTensor {
  Tensor tensor;
  Slice slice;
};

/// Returns the parts that rank `rank` holds, in the order of tensors_of: its stage's layers, its experts, its
/// tensor-parallel slices. A tied tensor is left out if the tensor that it shares memory with is on the same stage.
/// REQUIRES: find_fault finds no fault.
std::vector<HeldTensor> tensors_of_rank(const Layout& layout, const Transformer& model, int rank);

/// Returns the layout as text: "dp8 tp4 pp2", followed by other settings that differ from the defaults, except
/// stage_layers.
std::string to_text(const Layout& layout);

/// Returns the number of ranks that ZeRO shards over, among `ranks` ranks that would otherwise hold the same tensors:
/// `group` if it divides `ranks` into several groups, otherwise `ranks`. A `group` of 0 means `ranks`.
inline std::int64_t shard_ranks(std::int64_t ranks, int group) {
  return group > 0 && group < ranks && ranks % group == 0 ? group : ranks;
}

/// Returns shard_ranks() of all data-parallel and context-parallel ranks of a layout.
inline int shard_ranks(const Layout& layout, int group) {
  return static_cast<int>(shard_ranks(std::int64_t{layout.data} * layout.context, group));
}

}  // namespace dovetail::llm
