// The plan of one task: its devices, its layout and its settings.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "cluster/mesh.h"
#include "llm/layout.h"

namespace dovetail::plan {

/// Maximum number of sequences, tokens or micro-batches that a file may set.
inline constexpr std::int64_t max_count = 1 << 24;

/// How a data-parallel rank's share of a mini-batch or inference batch is divided into micro-batches. Exactly one
/// member is set; the other two are 0.
struct MicroBatching {
  double sequences = 0;  ///< maximum number of sequences in a micro-batch
  double tokens = 0;     ///< maximum number of tokens in a micro-batch, including padding
  int count = 0;         ///< number of micro-batches

  friend bool operator==(const MicroBatching&, const MicroBatching&) = default;
};
template <std::same_as<MicroBatching> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Integer;
  return base::fields<T>(field("sequences", &T::sequences, Integer{1, max_count}),
                         field("tokens", &T::tokens, Integer{1, max_count}),
                         field("count", &T::count, Integer{1, max_count}));
}

/// Lower limit of Engine::memory_utilization.
inline constexpr double min_memory_utilization = 0.01;

/// Settings of a generation engine.
struct Engine {
  /// Fraction of a device's memory for weights, KV cache and the engine's other memory. This is vLLM's definition; for
  /// other engines, see EngineKind (job.h).
  double memory_utilization = 0.9;
  std::int64_t max_num_seqs = 256;             ///< maximum number of sequences decoded together on an instance
  std::int64_t max_num_batched_tokens = 8192;  ///< maximum number of tokens that an instance processes in a step
  /// Whether prompts are prefilled in chunks of at most max_num_batched_tokens minus the tokens decoded in the same
  /// step (vLLM's enable_chunked_prefill). Otherwise, decoding waits while entire prompts are prefilled. Each prefill
  /// step takes as many prompts as max_num_batched_tokens allows, but at least one.
  bool chunked_prefill = true;
  bool cuda_graphs = true;
  /// Whether waiting sequences are admitted by predicted response length, longest first; otherwise in order of arrival.
  /// Only the simulation models this.
  bool longest_first = false;
  /// Whether the engine has its own copy of the weights. Otherwise, it generates with the trained weights (ReaL),
  /// which are reallocated if the train task has another mesh or layout.
  bool own_weights = true;

  friend bool operator==(const Engine&, const Engine&) = default;
};
template <std::same_as<Engine> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Flag, base::Number, base::Integer;
  return base::fields<T>(
      field("memory_utilization", &T::memory_utilization, Number{min_memory_utilization, 1},
            {.phrase = "memory utilization {}"}),
      field("max_num_seqs", &T::max_num_seqs, Integer{1, max_count}, {.phrase = "at most {} sequences"}),
      field("max_num_batched_tokens", &T::max_num_batched_tokens, Integer{1, max_count},
            {.phrase = "at most {} tokens per step"}),
      field("chunked_prefill", &T::chunked_prefill, Flag{},
            {.phrase = "chunked prefill", .otherwise = "no chunked prefill"}),
      field("longest_first", &T::longest_first, Flag{},
            {.phrase = "longest first", .otherwise = "in order of arrival"}),
      field("cuda_graphs", &T::cuda_graphs, Flag{}, {.phrase = "CUDA graphs", .otherwise = "no CUDA graphs"}),
      field("own_weights", &T::own_weights, Flag{},
            {.phrase = "with its own weights", .otherwise = "with the trained weights"}));
}

/// Which state of a task is in host memory: weights, gradients or optimizer while the task does not run, or the
/// optimizer at all times (optimizer_on_host).
struct Offload {
  bool weights = false;
  bool gradients = false;
  bool optimizer = false;
  bool optimizer_on_host = false;  ///< whether the optimizer is stored and stepped on the host

  friend bool operator==(const Offload&, const Offload&) = default;
};
template <std::same_as<Offload> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Flag;
  return base::fields<T>(
      field("weights", &T::weights, Flag{}, {.phrase = "weights"}),
      field("gradients", &T::gradients, Flag{}, {.phrase = "gradients"}),
      field("optimizer", &T::optimizer, Flag{}, {.phrase = "optimizer"}),
      field("optimizer_on_host", &T::optimizer_on_host, Flag{}, {.phrase = "optimizer (stepped on the host)"}));
}

/// The plan of one task. The mesh of a rule has no devices.
struct TaskPlan {
  cluster::Mesh mesh;
  llm::Layout layout;
  MicroBatching micro_batching;  ///< infer and train tasks only
  Engine engine;                 ///< generate tasks only
  Offload offload;

  friend bool operator==(const TaskPlan&, const TaskPlan&) = default;
};

// The functions below return why a setting is invalid regardless of other settings, and what is accepted. nullopt if it
// is valid.

std::optional<std::string> find_fault(const MicroBatching& micro_batching);
std::optional<std::string> find_fault(const Engine& engine);
/// A mesh is valid if cluster::is_usable holds.
std::optional<std::string> find_fault(const cluster::Mesh& mesh, const cluster::Cluster& cluster);

}  // namespace dovetail::plan
