#include "cost/passes.h"

#include <algorithm>
#include <cstddef>

#include "base/assert.h"

namespace dovetail::cost {

namespace {

constexpr double hidden_value_bytes = 2;  // bf16 and fp16

/// FLOPs of a stage's forward on one rank: dense products, attention scores, and routed experts.
struct StageFlops {
  double dense = 0;
  double scores = 0;
  double routed = 0;
};

StageFlops forward_flops(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                         const llm::Tokens& tokens) {
  const double multiplications =
      stage.dense * facts.dense_layer + stage.with_experts * facts.routed_layer + (stage.last ? facts.head : 0);
  const double ranks = static_cast<double>(layout.tensor) * layout.context;
  return {2 * multiplications * tokens.count / ranks, stage.layers() * facts.scores * tokens.squares / ranks,
          2 * stage.with_experts * facts.routed * tokens.count / ranks};
}

/// Returns the seconds of `products` times the matrix products of a forward, and `scores` times its attention.
double compute_seconds(const StageFlops& flops, double products, double scores, const Machine& machine,
                       const Efficiency& efficiency) {
  const double peak = peak_flops(machine.gpu);
  return (products * flops.dense + scores * flops.scores) / (efficiency.matrix_products * peak) +
         products * flops.routed / (efficiency.expert_products * peak);
}

/// Returns the bytes of hidden states between two layers on one context-parallel rank.
double hidden_bytes(const ModelFacts& facts, const llm::Layout& layout, double tokens) {
  return static_cast<double>(facts.model.hidden) * tokens / layout.context * hidden_value_bytes;
}

/// Returns the seconds to send tokens to their experts and back, in all layers of a stage with experts.
double exchange_seconds(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage, double tokens,
                        const Machine& machine) {
  if (layout.expert == 1) return 0;
  const double routed =
      hidden_bytes(facts, layout, tokens) / layout.tensor * static_cast<double>(facts.model.experts->active);
  return 2 * stage.with_experts *
         cluster::expert_all_to_all_seconds(machine.links, expert_group(layout, machine), routed, 1.0);
}

double communication_seconds(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                             double tokens, const Machine& machine) {
  double seconds = exchange_seconds(facts, layout, stage, tokens, machine);
  if (layout.tensor > 1)
    seconds +=
        2 * stage.layers() *
        cluster::all_reduce_seconds(machine.links, tensor_group(layout, machine), hidden_bytes(facts, layout, tokens));
  if (layout.context > 1) {
    const double elements = static_cast<double>(llm::key_value_elements(facts.model, layout.tensor)) /
                            static_cast<double>(facts.model.layers);
    seconds += stage.layers() * cluster::all_gather_seconds(machine.links, context_group(layout, machine),
                                                            elements * tokens * hidden_value_bytes);
  }
  return seconds;
}

/// Returns the seconds to gather again, for the weight gradients, the inputs that sequence parallelism kept sharded:
/// half an all-reduce each.
double gathering_again_seconds(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                               double tokens, const Machine& machine) {
  if (layout.tensor == 1) return 0;
  return 2 * stage.layers() *
         cluster::all_gather_seconds(machine.links, tensor_group(layout, machine), hidden_bytes(facts, layout, tokens));
}

/// Adds the launch time of `times` forwards through the stage, or of work with as many kernels.
PassSeconds with_launch(PassSeconds pass, double times, const StageLayers& stage, const Efficiency& efficiency) {
  const double least = times * stage.layers() * efficiency.layer_launch;
  pass.launch = std::max(0.0, least - pass.compute - pass.communication) +
                times * stage.with_experts * efficiency.expert_launch + efficiency.slot;
  return pass;
}

/// Returns another forward through the networks of layers with experts: router, shared and routed experts, and the
/// exchange of tokens.
PassSeconds experts_again(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage, double tokens,
                          const Machine& machine, const Efficiency& efficiency) {
  const double ranks = static_cast<double>(layout.tensor) * layout.context;
  const StageFlops flops{2 * stage.with_experts * facts.outside_routed * tokens / ranks, 0,
                         2 * stage.with_experts * facts.routed * tokens / ranks};
  PassSeconds pass;
  pass.compute = compute_seconds(flops, 1, 0, machine, efficiency);
  pass.communication = exchange_seconds(facts, layout, stage, tokens, machine);
  pass.launch = stage.with_experts * efficiency.expert_launch;
  if (layout.tensor == 1) return pass;
  pass.communication += stage.with_experts * cluster::all_reduce_seconds(machine.links, tensor_group(layout, machine),
                                                                         hidden_bytes(facts, layout, tokens));
  return pass;
}

/// Products and attention of a pass, as multiples of a forward's.
struct PassKind {
  double products = 1;
  double scores = 1;
};
constexpr PassKind forward_kind{};

PassKind backward_kind(const ModelFacts& facts) {
  constexpr double backward_scores = 2.5;
  return {facts.model.adapter_rank > 0 ? 1.0 : 2.0, backward_scores};
}

/// Inputs for the seconds of a layer and one micro-batch.
struct LayerContext {
  const ModelFacts& facts;
  const llm::Layout& layout;
  const llm::Tokens& tokens;
  const Machine& machine;
  const Efficiency& efficiency;
};

/// Returns the seconds of one layer from its measured table. Outside the measured range, they are proportional to the
/// roofline time without collectives, or to the launch time if it is longer.
double measured_layer(const LayerContext& of, const ProfileTable& table, bool with_experts, const PassKind& kind) {
  StageLayers layer;
  (with_experts ? layer.with_experts : layer.dense) = 1;
  const auto modelled = [&](double count, double length) {
    const StageFlops flops = forward_flops(of.facts, of.layout, layer, {count, count * length});
    return std::max(compute_seconds(flops, kind.products, kind.scores, of.machine, of.efficiency),
                    kind.products * of.efficiency.layer_launch) +
           kind.products * layer.with_experts * of.efficiency.expert_launch;
  };
  return profiled_seconds(table, of.tokens.count, of.tokens.squares / of.tokens.count, modelled);
}

/// Removes measured embedding and head from `stage` and returns their seconds: linear between measured points, and
/// proportional to the tokens outside their range. Recomputation does not affect them.
double take_measured_ends(const LayerContext& of, StageLayers& stage, bool backward) {
  if (of.layout.context > 1) return 0;
  double seconds = 0;
  const auto take = [&](bool& is_there, EndProfile LayerProfile::* end) {
    for (const LayerProfile& profile : of.facts.profiles) {
      if (!is_there || profile.gpu != of.machine.gpu.name || profile.tensor != of.layout.tensor) continue;
      const std::vector<ProfilePoint>& points = backward ? (profile.*end).backward : (profile.*end).forward;
      if (points.empty()) continue;
      seconds += profiled_seconds(points, of.tokens.count, [](double tokens) { return tokens; });
      is_there = false;
    }
  };
  take(stage.first, &LayerProfile::embedding);
  take(stage.last, &LayerProfile::head);
  return seconds;
}

/// Removes measured layers, embedding and head from `stage` and returns their seconds in a forward, or in a backward.
/// If the backward recomputes the forward (`again`), both must have been measured.
double take_measured(const LayerContext& of, StageLayers& stage, bool backward, bool again) {
  if (of.facts.profiles.empty() || of.tokens.count <= 0) return 0;
  double seconds = take_measured_ends(of, stage, backward);
  for (const bool with_experts : {false, true}) {
    double& layers = with_experts ? stage.with_experts : stage.dense;
    const LayerProfile* profile = find_layer_profile(of.facts.profiles, of.machine.gpu.name, of.layout, with_experts);
    if (layers == 0 || profile == nullptr) continue;
    const bool forward = !backward || again;
    if ((forward && profile->forward.empty()) || (backward && profile->backward.empty())) continue;
    if (forward) seconds += layers * measured_layer(of, profile->forward, with_experts, forward_kind);
    if (backward) seconds += layers * measured_layer(of, profile->backward, with_experts, backward_kind(of.facts));
    layers = 0;
  }
  return seconds;
}

}  // namespace

PassSeconds& PassSeconds::operator+=(const PassSeconds& other) {
  compute += other.compute;
  communication += other.communication;
  launch += other.launch;
  return *this;
}

PassSeconds operator*(double factor, PassSeconds seconds) {
  return {factor * seconds.compute, factor * seconds.communication, factor * seconds.launch};
}

PassSeconds forward_pass(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                         const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency) {
  StageLayers modelled = stage;
  const double measured = take_measured({facts, layout, micro_batch, machine, efficiency}, modelled, false, false);
  PassSeconds pass;
  pass.compute = compute_seconds(forward_flops(facts, layout, modelled, micro_batch), 1, 1, machine, efficiency);
  pass.communication = communication_seconds(facts, layout, stage, micro_batch.count, machine);
  pass = with_launch(pass, 1, modelled, efficiency);
  pass.compute += measured;
  return pass;
}

PassSeconds backward_pass(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                          const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency) {
  const bool again = layout.recomputation == llm::Recomputation::full;
  const PassKind kind = backward_kind(facts);
  const double products = kind.products + (again ? 1 : 0);
  const double scores = kind.scores + (again ? 1 : 0);
  StageLayers modelled = stage;
  const double measured = take_measured({facts, layout, micro_batch, machine, efficiency}, modelled, true, again);
  PassSeconds pass;
  pass.compute =
      compute_seconds(forward_flops(facts, layout, modelled, micro_batch), products, scores, machine, efficiency);
  pass.communication = (again ? 2 : 1) * communication_seconds(facts, layout, stage, micro_batch.count, machine);
  if (layout.sequence_parallel)
    pass.communication += gathering_again_seconds(facts, layout, stage, micro_batch.count, machine);
  pass = with_launch(pass, products, modelled, efficiency);
  pass.compute += measured;
  if (layout.recomputation == llm::Recomputation::experts)
    pass += experts_again(facts, layout, stage, micro_batch.count, machine, efficiency);
  if (facts.head_again && stage.last && !again) {
    const StageLayers head{.dense = 0, .with_experts = 0, .first = false, .last = true};
    pass.compute += compute_seconds(forward_flops(facts, layout, head, micro_batch), 1, 1, machine, efficiency);
  }
  return pass;
}

PipelineSeconds pipeline_seconds(const std::vector<PassSeconds>& stages, double micro_batches, int virtual_stages,
                                 double hop_seconds, int hops) {
  const auto slowest = std::max_element(stages.begin(), stages.end(),
                                        [](const PassSeconds& a, const PassSeconds& b) { return a.sum() < b.sum(); });
  double once = 0;
  for (const PassSeconds& stage : stages) once += stage.sum();
  PipelineSeconds pipeline;
  pipeline.slowest = micro_batches * *slowest;
  pipeline.bubbles = (once - slowest->sum()) / virtual_stages;
  pipeline.transfers = hop_seconds * hops;
  pipeline.seconds = pipeline.slowest.sum() + pipeline.bubbles + pipeline.transfers;
  return pipeline;
}

namespace {

/// Simulates the passes of a pipeline: their seconds, and the time at which each stage finished its latest pass.
class PipelineSimulation {
 public:
  PipelineSimulation(const std::vector<ChunkPasses>& chunks, int stages, double hop)
      : stages_(stages),
        rounds_(static_cast<int>(chunks.size()) / stages),
        hop_(hop),
        numbers_(2 * chunks.size() + 3 * at(stages)) {
    forward_ = numbers_.data();
    backward_ = forward_ + chunks.size();
    free_ = backward_ + chunks.size();
    forward_end_ = free_ + stages;
    backward_end_ = forward_end_ + stages;
    for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
      forward_[chunk] = chunks[chunk].forward.sum();
      backward_[chunk] = chunks[chunk].backward.sum();
    }
  }

  double seconds(int micro_batches) {
    const int rounds = std::max(simulated_per_stage, (min_simulated + stages_ - 1) / stages_);
    const int simulated = std::min(micro_batches, rounds * stages_);
    const double begun = simulate(simulated);
    return simulated == micro_batches ? begun : begun + (micro_batches - simulated) * seconds_each(simulated, begun);
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  double simulate(int micro_batches) {
    return rounds_ == 1 ? simulate_plain(micro_batches) : simulate_interleaved(micro_batches);
  }

  /// Simulates 1F1B. The last pass to end is the backward of the first stage.
  double simulate_plain(int micro_batches) {
    std::fill_n(free_, stages_, 0.0);
    for (int count = 0; count < micro_batches + stages_ - 1; ++count) {
      for (int stage = std::min(count, stages_ - 1); stage >= std::max(0, count - micro_batches + 1); --stage) {
        const double arrival = stage > 0 ? forward_end_[stage - 1] + hop_ : 0;
        forward_end_[stage] = free_[stage] = std::max(free_[stage], arrival) + forward_[stage];
      }
      if (count < stages_ - 1) continue;
      double arrival = 0;
      for (int stage = stages_ - 1; stage >= 0; --stage) {
        free_[stage] = std::max(free_[stage], arrival) + backward_[stage];
        arrival = free_[stage] + hop_;
      }
    }
    return free_[0];
  }

  /// Simulates interleaved 1F1B. Micro-batches go in groups, one per stage: a group passes through the first chunks of
  /// all stages, then through the second ones, and so on.
  double simulate_interleaved(int micro_batches) {
    const int passes = micro_batches * rounds_;
    const int after = stages_ * rounds_ + stages_ - 2;  // from the first stage's first forward to its first backward
    std::fill_n(free_, stages_, 0.0);
    for (int count = 0; count < passes + after; ++count) {
      forwards(count, passes);
      if (count >= after - stages_ + 1) backwards(count - after, passes);
    }
    return free_[0];
  }

  /// Simulates the forwards of number `count`: pass `count` of the first stage, the one before it of the second, and so
  /// on.
  void forwards(int count, int passes) {
    const double round_the_ring = forward_end_[stages_ - 1] + hop_;
    const int turn = count / stages_;
    for (int stage = std::min(count, stages_ - 1); stage >= std::max(0, count - passes + 1); --stage) {
      const int round = (stage > count % stages_ ? turn + rounds_ - 1 : turn) % rounds_;
      const double arrival = stage > 0 ? forward_end_[stage - 1] + hop_ : round > 0 ? round_the_ring : 0;
      forward_end_[stage] = free_[stage] = std::max(free_[stage], arrival) + forward_[round * stages_ + stage];
    }
  }

  /// Simulates the backwards of a number: pass `first` of the first stage, if there is one, the one after it of the
  /// second, and so on.
  void backwards(int first, int passes) {
    const double round_the_ring = backward_end_[0] + hop_;
    for (int stage = std::max(0, -first); stage < stages_ && first + stage < passes; ++stage) {
      const int round = rounds_ - 1 - (first + stage) / stages_ % rounds_;
      const double arrival = stage < stages_ - 1   ? backward_end_[stage + 1] + hop_
                             : round < rounds_ - 1 ? round_the_ring
                                                   : 0;
      backward_end_[stage] = free_[stage] = std::max(free_[stage], arrival) + backward_[round * stages_ + stage];
    }
  }

  /// Returns the seconds per micro-batch in the long run. v = 1: the header's formula. Otherwise the pace of the last
  /// ones simulated, or of the slowest stage if that is longer.
  double seconds_each(int simulated, double begun) {
    const bool interleaved = rounds_ > 1;
    double most = interleaved ? (begun - simulate(simulated - stages_)) / stages_ : 0;
    for (int first = 0; first < stages_; ++first) {
      double sum = 0;
      for (int last = first; last < (interleaved ? first + 1 : stages_); ++last) {
        for (int chunk = last; chunk < rounds_ * stages_; chunk += stages_) sum += forward_[chunk] + backward_[chunk];
        most = std::max(most, (sum + 2 * (last - first) * hop_) / (last - first + 1));
      }
    }
    return most;
  }

  int stages_;
  int rounds_;
  double hop_;
  std::vector<double> numbers_;
  double* forward_;       // [chunk]
  double* backward_;      // [chunk]
  double* free_;          // [stage]
  double* forward_end_;   // [stage]
  double* backward_end_;  // [stage]
};

}  // namespace

PipelineSeconds training_pipeline_seconds(const std::vector<ChunkPasses>& chunks, int stages, int micro_batches,
                                          double hop_seconds) {
  const int rounds = static_cast<int>(chunks.size()) / stages;
  DOVETAIL_ASSERT(stages >= 1 && rounds >= 1 && micro_batches >= 1 && (rounds == 1 || micro_batches % stages == 0));
  PassSeconds slowest;
  double once = 0;
  for (int stage = 0; stage < stages; ++stage) {
    PassSeconds here;
    for (int round = 0; round < rounds; ++round) {
      const ChunkPasses& chunk = chunks[static_cast<std::size_t>(round * stages + stage)];
      here += chunk.forward;
      here += chunk.backward;
    }
    once += here.sum();
    if (here.sum() > slowest.sum()) slowest = here;
  }
  PipelineSeconds pipeline;
  pipeline.seconds = PipelineSimulation(chunks, stages, hop_seconds).seconds(micro_batches);
  pipeline.slowest = micro_batches * slowest;
  const double waiting = std::max(0.0, pipeline.seconds - pipeline.slowest.sum());
  pipeline.bubbles = std::min(waiting, (once - slowest.sum()) / rounds);
  pipeline.transfers = waiting - pipeline.bubbles;
  return pipeline;
}

}  // namespace dovetail::cost
