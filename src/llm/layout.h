// How a model is split over the devices of its mesh, and which rank has which part.
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

/// What is computed again in the backward in place of being kept: nothing; attention alone (what flash attention does
/// anyway); of layers with experts their whole feed-forward network, from router to shared experts, but its input
/// (Megatron-LM's `recompute_modules: moe`); or all of a layer but its input.
enum class Recomputation { none, selective, experts, full };
constexpr auto names_of(Recomputation) {
  return std::array{base::EnumName{"none", Recomputation::none, "nothing recomputed"},
                    base::EnumName{"selective", Recomputation::selective, "attention recomputed"},
                    base::EnumName{"experts", Recomputation::experts, "experts recomputed"},
                    base::EnumName{"full", Recomputation::full, "whole layers recomputed"}};
}

/// Limits of a parallel degree.
inline constexpr base::Whole degree_limits{1, 1 << 16};

/// Parallel degrees and what belongs to them. Devices: data x context x tensor x pipeline; experts are spread over data
/// x context x tensor.
struct Layout {
  int data = 1;
  int context = 1;  ///< sequences cut into so many parts
  int tensor = 1;
  int pipeline = 1;
  int virtual_stages = 1;  ///< chunks of layers on each pipeline stage (interleaved 1F1B)
  int expert = 1;          ///< groups that experts are dealt out to
  int expert_tensor = 1;   ///< tensor parallelism within an expert
  int zero = 0;            ///< ZeRO stage: 0 none, 1 optimizer, 2 and gradients, 3 and weights, over data x context
  bool sequence_parallel = false;  ///< activations between tensor-parallel regions cut as well (arXiv 2205.05198)
  Recomputation recomputation = Recomputation::none;
  std::vector<int> stage_layers;  ///< [pipeline stage] layers; empty: as even as they go, the first stages one more

  int devices() const { return data * context * tensor * pipeline; }
  friend bool operator==(const Layout&, const Layout&) = default;
};
template <std::same_as<Layout> T>
constexpr auto fields_of(const T*) {
  using base::field;
  return base::fields<T>(
      field("dp", &T::data, degree_limits, {.what = "data"}),
      field("tp", &T::tensor, degree_limits, {.what = "tensor"}),
      field("pp", &T::pipeline, degree_limits, {.what = "pipeline"}),
      field("cp", &T::context, degree_limits, {.what = "context"}),
      field("ep", &T::expert, degree_limits, {.what = "expert"}),
      field("etp", &T::expert_tensor, degree_limits, {.what = "expert_tensor"}),
      field("vpp", &T::virtual_stages, degree_limits, {.what = "virtual_stages"}),
      field("zero", &T::zero, base::Whole{0, 3}, {.words = "ZeRO stage {}"}),
      field("sequence_parallel", &T::sequence_parallel, base::Flag{},
            {.words = "sequence parallel", .otherwise = "not sequence parallel"}),
      field("recompute", &T::recomputation, base::Choice{}, {.words = "{}"}),
      field("stage_layers", &T::stage_layers, base::WholeList{"the number of layers of a stage", 0, max_layer_count}));
}

/// Calls `f` with the field of each parallel degree: a whole number from 1. ZeRO's stage, which may be 0, is none.
template <class F>
void for_each_degree(F&& f) {
  base::for_each_field<Layout>([&f](const auto& each) {
    if constexpr (std::is_same_v<decltype(each.kind), base::Whole>)
      if (each.kind.min == degree_limits.min) f(each);
  });
}

/// Where a device stands in a layout. Ranks count tensor first, then context, data, pipeline: rank = ((p D + d) C + c)
/// T + t, as Megatron-LM and ReaL do, so that tensor-parallel groups are neighbours.
struct Coordinates {
  int pipeline = 0;
  int data = 0;
  int context = 0;
  int tensor = 0;

  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};
Coordinates coordinates_of(const Layout& layout, int rank);
int rank_of(const Layout& layout, const Coordinates& coordinates);

/// Which group of experts a rank has, and which part of each expert: its place in data x context x tensor,
/// expert_tensor fastest.
struct ExpertPlace {
  int group = 0;    ///< of layout.expert
  int part = 0;     ///< of layout.expert_tensor
  int replica = 0;  ///< which of the equal copies
};
ExpertPlace expert_place(const Layout& layout, const Coordinates& coordinates);

/// Layers [begin, end) that stand together on a device.
struct Chunk {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// The chunks of pipeline stage `stage`, in forward order: one, or virtual_stages many, chunk v of stage p being the (v
/// P + p)-th of all. The embedding goes with the first chunk of stage 0, the head with the last of the last stage.
/// REQUIRES: no fault.
std::vector<Chunk> chunks_of(const Layout& layout, const Transformer& model, int stage);

/// Why `model` cannot be laid out so, and what could; nothing where it can.
std::optional<std::string> find_fault(const Layout& layout, const Transformer& model);

/// A part of a tensor that a rank holds before ZeRO cuts it further.
struct HeldTensor {
  Tensor tensor;
  Slice slice;
};

/// All that rank `rank` holds, in the order of tensors_of: its stage's layers, its experts, its tensor-parallel slices.
/// What is tied and on the same stage as what it is tied to is left out. REQUIRES: no fault.
std::vector<HeldTensor> tensors_of_rank(const Layout& layout, const Transformer& model, int rank);

/// "dp8 tp4 pp2", with what differs from the defaults behind.
std::string to_text(const Layout& layout);

}  // namespace dovetail::llm
