// Generation by sample: every instance of the actor's layout plays its share (instance.h).
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

/// What an engine may be told beside plan::Engine; the defaults are vLLM's.
struct EngineOptions {
  bool prefix_sharing = true;
  bool longest_first = false;  ///< lengths are predicted, and the longest responses start first
  bool min_loaded =
      false;  ///< groups go to the instance with the fewest tokens so far, as if lengths were known; else in turn
  std::int64_t block_tokens = batching::cache_block;
};

/// A generate task of a plan. Its references must outlive whatever is made of it.
struct GenerationTask {
  const cost::ModelFacts& facts;
  const cluster::Cluster& cluster;
  cluster::Mesh mesh;
  llm::Layout layout;
  plan::Engine engine;
  double key_value_room = 0;  ///< bytes of each device for keys and values; a cache has at least one block
  cost::Efficiency efficiency;
  EngineOptions options = {};
  std::int32_t task = 0;  ///< Span::task
};

/// What instances did, all together.
struct GenerationCounts {
  std::int64_t decoded = 0;     ///< tokens: those of all responses
  std::int64_t prefilled = 0;   ///< tokens of prompts, computed for the first time
  std::int64_t recomputed = 0;  ///< tokens computed again, behind a preemption or a move
  std::int64_t preemptions = 0;
  std::int64_t peak = 0;  ///< bytes of keys and values on a device of the instance with the most; more than there is
                          ///< room for only where a single sequence is
};

struct Generation {
  base::Ticks end;
  std::vector<base::Ticks> finished;  ///< [sample]
  /// A lane an instance, by the number of the replica. Where nothing is left for it, it idles in the tail.
  /// Lane::memory: keys and values.
  Trace trace;
  GenerationCounts counts;
};

/// Plays all of generation; the same to the bit wherever cost's seconds are. Groups are dealt out to the instances in
/// turn, as engines do, in the order of their first samples; where there are fewer groups than instances, samples are.
/// REQUIRES: the layout has no fault, engine settings neither; prompts are at least 1 token, responses at least 0.
Generation simulate_generation(const GenerationTask& task, const std::vector<Sample>& samples);

// What simulations of more than generation are made of.

/// The instances of a task: their devices, and a clock for their steps.
struct Fleet {
  StepClock clock;
  InstanceLimits limits;
  std::vector<std::vector<int>> devices;         ///< [instance], of the cluster, ascending
  std::vector<std::vector<std::size_t>> shares;  ///< [instance] samples, in the order in which they arrive
};

Fleet fleet_of(const GenerationTask& task, const std::vector<Sample>& samples);
/// Instances at time 0, with their shares waiting. They use the fleet's clock.
std::vector<Instance> instances_of(Fleet& fleet, const GenerationTask& task, const std::vector<Sample>& samples);
/// Adds what an instance did to what others did.
void add_counts(const InstanceLog& log, GenerationCounts& counts);
/// Fills the gaps of `spans` from 0 to `end` with idling of this kind.
std::vector<Span> without_gaps(const std::vector<Span>& spans, base::Ticks end, BarKind idle, std::int32_t task);

}  // namespace dovetail::simulate
