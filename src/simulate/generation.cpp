#include "simulate/generation.h"

#include <algorithm>

#include "base/assert.h"
#include "batching/distribution.h"
#include "cost/generation.h"

namespace dovetail::simulate {

using base::Ticks;

namespace {

InstanceLimits limits_of(const GenerationTask& task) {
  InstanceLimits limits;
  limits.sequences = task.engine.max_num_seqs;
  limits.batched_tokens = task.engine.max_num_batched_tokens;
  limits.chunked_prefill = task.engine.chunked_prefill;
  limits.prefix_sharing = task.options.prefix_sharing;
  limits.longest_first = task.options.longest_first;
  limits.block_tokens = task.options.block_tokens;
  limits.token_bytes = cost::key_value_bytes(task.facts, task.layout);
  constexpr double max_blocks = 1e12;
  limits.blocks = static_cast<std::int64_t>(std::clamp(
      task.key_value_capacity / (limits.token_bytes * static_cast<double>(limits.block_tokens)), 1.0, max_blocks));
  return limits;
}

/// Returns the devices of every data-parallel replica.
std::vector<std::vector<int>> devices_of(const llm::Layout& layout, const cluster::Mesh& mesh) {
  std::vector<std::vector<int>> devices(static_cast<std::size_t>(layout.data));
  for (int rank = 0; rank < layout.devices(); ++rank)
    devices[static_cast<std::size_t>(llm::coordinates_of(layout, rank).data)].push_back(mesh.first + rank);
  return devices;
}

std::vector<std::vector<std::size_t>> deal_out(const std::vector<Sample>& samples, std::size_t instances,
                                               bool min_loaded) {
  std::vector<std::int64_t> groups;
  std::vector<std::int64_t> loads;
  for (const Sample& sample : samples) {
    groups.push_back(sample.group);
    if (min_loaded) loads.push_back(sample.prompt + sample.response);
  }
  return batching::distribute_to_instances(groups, loads, instances);
}

}  // namespace

Fleet fleet_of(const GenerationTask& task, const std::vector<Sample>& samples) {
  std::int64_t longest = 1;
  for (const Sample& sample : samples) {
    DOVETAIL_ASSERT(sample.prompt >= 1 && sample.response >= 0);
    longest = std::max(longest, sample.prompt + sample.response);
  }
  const cost::Machine machine = cost::machine_of(task.cluster, task.mesh, task.efficiency);
  return {StepClock(task.facts, task.layout, machine, task.efficiency, longest), limits_of(task),
          devices_of(task.layout, task.mesh),
          deal_out(samples, static_cast<std::size_t>(task.layout.data), task.options.min_loaded)};
}

std::vector<Instance> instances_of(Fleet& fleet, const GenerationTask& task, const std::vector<Sample>& samples) {
  std::vector<Instance> instances;
  instances.reserve(fleet.shares.size());
  for (const std::vector<std::size_t>& share : fleet.shares) {
    Instance& instance = instances.emplace_back(fleet.limits, fleet.clock, task.task);
    for (const std::size_t index : share) {
      Sequence sequence;
      sequence.sample = index;
      sequence.prompt = samples[index].prompt;
      sequence.response = samples[index].response;
      sequence.group = samples[index].group;
      instance.arrive(Ticks(0), sequence);
    }
  }
  return instances;
}

void add_counts(const InstanceLog& log, GenerationCounts& counts) {
  counts.decoded += log.decoded;
  counts.prefilled += log.prefilled;
  counts.recomputed += log.recomputed;
  counts.preemptions += log.preemptions;
  counts.peak = std::max(counts.peak, log.peak);
}

std::vector<Span> without_gaps(const std::vector<Span>& spans, Ticks end, BarKind idle, std::int32_t task) {
  std::vector<Span> filled;
  Ticks at;
  const auto fill = [&](Ticks to) {
    if (to > at) filled.push_back({at, to, idle, task});
  };
  for (const Span& span : spans) {
    fill(span.begin);
    filled.push_back(span);
    at = span.end;
  }
  fill(end);
  return filled;
}

Generation simulate_generation(const GenerationTask& task, const std::vector<Sample>& samples) {
  Fleet fleet = fleet_of(task, samples);
  std::vector<Instance> instances = instances_of(fleet, task, samples);
  Generation generation;
  generation.finished.resize(samples.size());
  for (Instance& instance : instances) {
    instance.run_until(Ticks::max());
    for (const auto& [sample, time] : instance.log().finished) generation.finished[sample] = time;
    generation.end = std::max(generation.end, instance.now());
    add_counts(instance.log(), generation.counts);
  }
  generation.trace.end = generation.end;
  for (std::size_t index = 0; index < instances.size(); ++index) {
    const InstanceLog& log = instances[index].log();
    generation.trace.lanes.push_back(
        {fleet.devices[index], without_gaps(log.spans, generation.end, BarKind::tail, task.task), log.memory});
  }
  return generation;
}

}  // namespace dovetail::simulate
