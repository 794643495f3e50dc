// One task's part of a plan: its devices, its layout and its settings.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "cluster/mesh.h"
#include "llm/layout.h"

namespace dovetail::plan {

/// What a file may ask for at most: sequences, tokens, micro-batches.
inline constexpr std::int64_t max_count = 1 << 24;

/// How a device's share of a mini-batch is cut: by a number of sequences, or by tokens (sequences packed, or as many as
/// fit together). One of them is 0; a number of micro-batches, where it is given, goes before both.
struct MicroBatching {
  double sequences = 0;
  double tokens = 0;
  int count = 0;

  friend bool operator==(const MicroBatching&, const MicroBatching&) = default;
};
template <std::same_as<MicroBatching> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Whole;
  return base::fields<T>(field("sequences", &T::sequences, Whole{1, max_count}),
                         field("tokens", &T::tokens, Whole{1, max_count}),
                         field("count", &T::count, Whole{1, max_count}));
}

/// An engine with less of a device's memory would hold nothing.
inline constexpr double min_memory_utilization = 0.01;

/// Settings of a generation engine, by vLLM's names for them.
struct Engine {
  double memory_utilization =
      0.9;  ///< fraction of a device's memory that weights, keys and values and the engine's own may take
  std::int64_t max_num_seqs = 256;  ///< sequences decoded together on an instance
  std::int64_t max_num_batched_tokens = 8192;
  /// Prompts are computed in parts of at most max_num_batched_tokens, less what is decoded beside them (vLLM's
  /// enable_chunked_prefill). Else decoding waits while as many whole prompts are computed as that allows, and at least
  /// one.
  bool chunked_prefill = true;
  bool cuda_graphs = true;
  /// Of sequences that wait for a place the one with the longest response enters first, as far as its length is
  /// predicted: software that does so. Played, not in closed form.
  bool longest_first = false;
  bool own_weights =
      true;  ///< in a form of its own; else it generates with the trained ones where mesh and layout are theirs (ReaL)

  friend bool operator==(const Engine&, const Engine&) = default;
};
template <std::same_as<Engine> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Flag, base::Number, base::Whole;
  return base::fields<T>(
      field("memory_utilization", &T::memory_utilization, Number{min_memory_utilization, 1},
            {.words = "memory utilization {}"}),
      field("max_num_seqs", &T::max_num_seqs, Whole{1, max_count}, {.words = "{} sequences at most"}),
      field("max_num_batched_tokens", &T::max_num_batched_tokens, Whole{1, max_count},
            {.words = "{} tokens together at most"}),
      field("chunked_prefill", &T::chunked_prefill, Flag{},
            {.words = "chunked prefill", .otherwise = "no chunked prefill"}),
      field("longest_first", &T::longest_first, Flag{},
            {.words = "longest first", .otherwise = "in the order of arrival"}),
      field("cuda_graphs", &T::cuda_graphs, Flag{}, {.words = "CUDA graphs", .otherwise = "no CUDA graphs"}),
      field("own_weights", &T::own_weights, Flag{},
            {.words = "with weights of its own", .otherwise = "with the trained weights"}));
}

/// What of a role's state leaves the device for host memory while its task does not run.
struct Offload {
  bool weights = false;
  bool gradients = false;
  bool optimizer = false;
  bool optimizer_on_host = false;  ///< kept and stepped there

  friend bool operator==(const Offload&, const Offload&) = default;
};
template <std::same_as<Offload> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Flag;
  return base::fields<T>(
      field("weights", &T::weights, Flag{}, {.words = "weights"}),
      field("gradients", &T::gradients, Flag{}, {.words = "gradients"}),
      field("optimizer", &T::optimizer, Flag{}, {.words = "optimizer"}),
      field("optimizer_on_host", &T::optimizer_on_host, Flag{}, {.words = "optimizer (stepped on the host)"}));
}

/// One task's part of a plan. A rule has no devices.
struct TaskPlan {
  cluster::Mesh mesh;
  llm::Layout layout;
  MicroBatching micro_batching;  ///< of infer and train tasks
  Engine engine;                 ///< of generate tasks
  Offload offload;

  friend bool operator==(const TaskPlan&, const TaskPlan&) = default;
};

// What is wrong with a part, by itself, and what is accepted; nothing where it is sound.

std::optional<std::string> find_fault(const MicroBatching& micro_batching);
std::optional<std::string> find_fault(const Engine& engine);
/// A mesh is sound where it is cluster::is_usable.
std::optional<std::string> find_fault(const cluster::Mesh& mesh, const cluster::Cluster& cluster);

}  // namespace dovetail::plan
