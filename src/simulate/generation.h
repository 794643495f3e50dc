// Simulation of generation sample by sample: every instance of the task's layout runs its share (instance.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/quantity.h"
#include "batching/engine_scheduler.h"
#include "cluster/cluster.h"
#include "cluster/mesh.h"
#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "llm/layout.h"
#include "plan/task_plan.h"
#include "simulate/instance.h"
#include "simulate/sample.h"
#include "simulate/trace.h"

namespace dovetail::simulate {

/// Options of the simulated engine. The defaults are vLLM's.
struct EngineOptions {
  bool prefix_sharing = true;
  bool longest_first = false;  ///< response lengths are known, and the longest response starts first

  /// How groups are assigned to instances. true: each goes to the instance with the fewest tokens so far, counting the
  /// actual response lengths; false: in turn.
  bool min_loaded = false;
  std::int64_t block_tokens = batching::cache_block;
};

/// A generate task of a plan. Its references must outlive everything built from it.
struct GenerationTask {
  const cost::ModelFacts& facts;
  const cluster::Cluster& cluster;
  cluster::Mesh mesh;
  llm::Layout layout;
  plan::Engine engine;
  double key_value_capacity = 0;  ///< bytes of each device's KV cache, raised to one block if less
  cost::Efficiency efficiency;
  EngineOptions options = {};
  std::int32_t task = 0;  ///< value of Span::task in the trace
};

/// Totals over all instances.
struct GenerationCounts {
  std::int64_t decoded = 0;     ///< response tokens decoded
  std::int64_t prefilled = 0;   ///< prompt tokens computed for the first time
  std::int64_t recomputed = 0;  ///< tokens recomputed after a preemption or a migration
  std::int64_t preemptions = 0;
  std::int64_t peak = 0;  ///< max KV cache bytes on a device; only a sequence that runs alone may exceed the capacity
};

struct Generation {
  base::Ticks end;
  std::vector<base::Ticks> finished;  ///< [sample] time at which its response is complete
  /// One lane per instance, in order of replica; all idle time is BarKind::tail; Lane::memory is the KV cache.
  Trace trace;
  GenerationCounts counts;
};

/// Simulates all of generation. The result is the same on all machines on which the cost model computes the same
/// seconds. Groups are assigned to the instances in the order of their first samples (see EngineOptions::min_loaded).
/// If there are fewer groups than instances, single samples are assigned. REQUIRES: layout and engine settings have no
/// fault; prompts have at least 1 token, responses at least 0.
Generation simulate_generation(const GenerationTask& task, const std::vector<Sample>& samples);

// Building blocks of simulations that include generation.

/// The instances of a task: their devices, and a clock for their steps.
struct Fleet {
  StepClock clock;
  InstanceLimits limits;
  std::vector<std::vector<int>> devices;         ///< [instance] device numbers in the cluster, ascending
  std::vector<std::vector<std::size_t>> shares;  ///< [instance] samples, in arrival order
};

Fleet fleet_of(const GenerationTask& task, const std::vector<Sample>& samples);
/// Returns the instances at time 0, with the samples of their shares waiting. They use the fleet's clock.
std::vector<Instance> instances_of(Fleet& fleet, const GenerationTask& task, const std::vector<Sample>& samples);
/// Adds the totals of an instance to `counts`.
void add_counts(const InstanceLog& log, GenerationCounts& counts);
/// Returns `spans` with the gaps from 0 to `end` filled with spans of kind `idle` and the given task.
std::vector<Span> without_gaps(const std::vector<Span>& spans, base::Ticks end, BarKind idle, std::int32_t task);

}  // namespace dovetail::simulate
