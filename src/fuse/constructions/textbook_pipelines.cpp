// GPipe, the variants of 1F1B including interleaved 1F1B, and one micro-batch at a time.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "fuse/constructions/building_blocks.h"
#include "fuse/constructions/constructions.h"

namespace dovetail::fuse {
namespace {

using pipeline::BackwardForm;
using pipeline::DeviceId;
using pipeline::Lowering;
using pipeline::Memory;
using pipeline::MicrobatchId;
using pipeline::Model;
using pipeline::PipelineId;
using pipeline::Problem;
using pipeline::StageId;
using pipeline::Ticks;

int stages_of(const Lowering& lowering, PipelineId pipeline) {
  return lowering.stage_begin[pipeline.index() + 1] - lowering.stage_begin[pipeline.index()];
}

void append_gpipe(OpChain& chain, const Lowering& lowering, PipelineId pipeline, StageId stage, int first,
                  int microbatches) {
  for (int m = 0; m < microbatches; ++m)
    chain.push_back(lowering.ops(pipeline, stage, MicrobatchId(first + m)).forward);
  for (int m = 0; m < microbatches; ++m)
    chain.push_back(lowering.ops(pipeline, stage, MicrobatchId(first + m)).backward);
}

void append_1f1b(OpChain& chain, const Lowering& lowering, PipelineId pipeline, StageId stage, int first,
                 int microbatches) {
  const int ahead = std::min(microbatches, stages_of(lowering, pipeline) - 1 - stage.value);
  for (int m = 0; m < microbatches + ahead; ++m) {
    if (m < microbatches) chain.push_back(lowering.ops(pipeline, stage, MicrobatchId(first + m)).forward);
    if (m >= ahead) chain.push_back(lowering.ops(pipeline, stage, MicrobatchId(first + m - ahead)).backward);
  }
}

Answer solve_serial(std::string_view name, const Problem& problem, const AppendMinibatch& append_minibatch) {
  Lowering lowering = pipeline::lower(problem, BackwardForm::whole);
  auto order = run_models_in_turn(problem, lowering, [&](const Lowering& lowered, PipelineId pipeline) {
    return chains_by_stage(problem, lowered, pipeline, append_minibatch);
  });
  return construction_answer(name, problem, std::move(lowering), std::move(order));
}

/// Appends one mini-batch of all replicas of a model, whose first pipeline is `first`: micro-batch by micro-batch, then
/// the optimizer steps.
void append_minibatch_one_at_a_time(const Lowering& lowering, const Model& model, PipelineId first, int minibatch,
                                    const std::function<void(pipeline::OpId)>& append) {
  for (std::size_t replica = 0; replica < model.replicas.size(); ++replica) {
    const PipelineId pipeline(first.index() + replica);
    for (int m = 0; m < model.microbatches; ++m) {
      const MicrobatchId microbatch(minibatch * model.microbatches + m);
      for (int s = 0; s < model.stages(); ++s) append(lowering.ops(pipeline, StageId(s), microbatch).forward);
      for (int s = model.stages() - 1; s >= 0; --s) {
        const pipeline::MicrobatchOps& ops = lowering.ops(pipeline, StageId(s), microbatch);
        for (std::size_t op = ops.forward.index() + 1; op <= ops.backward.index(); ++op) append(pipeline::OpId(op));
      }
    }
  }
  for (std::size_t replica = 0; replica < model.replicas.size(); ++replica)
    for (int s = 0; s < model.stages(); ++s) {
      OpChain step;
      append_step(step, lowering, PipelineId(first.index() + replica), StageId(s), minibatch);
      for (const pipeline::OpId op : step) append(op);
    }
}

/// Returns a model with its stages merged in pairs: two pipelines, one on the first and one on the second device of
/// each pair.
Model halve_pipeline(const Model& model) {
  Model halved = model;
  halved.microbatches = model.microbatches / 2;
  const auto merge = [](auto& values) {
    for (std::size_t pair = 0; 2 * pair + 1 < values.size(); ++pair)
      values[pair] = values[2 * pair] + values[2 * pair + 1];
    values.resize(values.size() / 2);
  };
  pipeline::for_each_duration(halved, [&](std::vector<Ticks>& times, const auto&) { merge(times); });
  merge(halved.activation);
  merge(halved.weight_activation);
  const auto keep_outer = [](std::vector<Ticks>& transfers) {
    for (std::size_t boundary = 0; 2 * boundary + 1 < transfers.size(); ++boundary)
      transfers[boundary] = transfers[2 * boundary + 1];
    transfers.resize(transfers.size() / 2);
  };
  keep_outer(halved.transfer_forward);
  keep_outer(halved.transfer_backward);
  halved.replicas.clear();
  for (const auto& replica : model.replicas)
    for (const std::size_t copy : {std::size_t{0}, std::size_t{1}}) {
      auto& devices = halved.replicas.emplace_back();
      for (std::size_t pair = 0; 2 * pair < replica.size(); ++pair) devices.push_back(replica[2 * pair + copy]);
    }
  return halved;
}

/// Returns why a model's pipeline cannot be halved, or nullopt if it can.
std::optional<std::string> why_not_halved(const Model& model) {
  if (model.stages() % 2 != 0)
    return fmt::format("model {} needs an even number of stages, got {}", model.name, model.stages());
  if (model.microbatches % 2 != 0)
    return fmt::format("model {} needs an even number of micro-batches, got {}", model.name, model.microbatches);
  for (const auto& replica : model.replicas)
    if (!pipeline::on_distinct_devices(replica))
      return fmt::format("model {} has several stages on a device", model.name);
  return std::nullopt;
}

}  // namespace

Answer solve_gpipe(const Problem& problem, const SolveOptions&) { return solve_serial("gpipe", problem, append_gpipe); }

Answer solve_1f1b(const Problem& problem, const SolveOptions&) { return solve_serial("1f1b", problem, append_1f1b); }

Answer solve_one_at_a_time(const Problem& problem, const SolveOptions&) {
  Lowering lowering = pipeline::lower(problem, BackwardForm::whole);
  pipeline::Order order;
  order.devices.resize(static_cast<std::size_t>(problem.devices));
  const auto append = [&](pipeline::OpId op) {
    order.devices[lowering.graph.device[op.index()].index()].push_back(op);
  };
  for (std::size_t model = 0; model < problem.models.size(); ++model)
    for (int minibatch = 0; minibatch < problem.models[model].minibatches; ++minibatch)
      append_minibatch_one_at_a_time(lowering, problem.models[model], lowering.first_pipeline[model], minibatch,
                                     append);
  return construction_answer("one-at-a-time", problem, std::move(lowering), std::move(order));
}

Answer solve_fused_1f1b(const Problem& problem, const SolveOptions&) {
  Lowering lowering = pipeline::lower(problem, BackwardForm::whole);
  std::vector<std::int32_t> in_flight;
  for (const pipeline::Pipeline& pipeline : lowering.pipelines) {
    const Model& model = problem.models[pipeline.model.index()];
    for (int stage = 0; stage < model.stages(); ++stage)
      in_flight.push_back(std::min(model.microbatches, model.stages() - stage));
  }
  DispatchRules rules = backward_first_rules(lowering);
  add_in_flight_gates(rules, lowering, in_flight, false);
  auto sequences = dispatch(lowering.graph, rules);
  std::optional<pipeline::Order> order;
  if (sequences) order = pipeline::Order{std::move(*sequences), {}};
  return construction_answer("fused-1f1b", problem, std::move(lowering), std::move(order));
}

Answer solve_1f1b_plus(const Problem& problem, const SolveOptions& options) {
  Problem halved = problem;
  for (Model& model : halved.models) {
    if (const auto why = why_not_halved(model)) return NotApplicable{*why};
    model = halve_pipeline(model);
  }
  if (const auto fault = pipeline::find_fault(halved)) return NotApplicable{*fault};
  Answer answer = solve_1f1b(halved, options);
  if (auto* solution = std::get_if<Solution>(&answer)) {
    solution->solver.name = "1f1b+";
    solution->other_layout = "pipeline degrees halved, data parallelism doubled, half the micro-batches per pipeline";
  }
  return answer;
}

namespace {

/// Returns the number of devices that a replica cycles through in a fixed order, or nullopt if it does not do so.
std::optional<int> ring_of(const std::vector<DeviceId>& replica) {
  const auto again = std::find(replica.begin() + 1, replica.end(), replica.front());
  const auto ring = static_cast<std::size_t>(again - replica.begin());
  if (replica.size() % ring != 0) return std::nullopt;
  for (std::size_t stage = 0; stage < replica.size(); ++stage) {
    if (replica[stage] != replica[stage % ring]) return std::nullopt;
    if (stage > 0 && stage < ring &&
        std::find(replica.begin(), replica.begin() + static_cast<std::ptrdiff_t>(stage), replica[stage]) !=
            replica.begin() + static_cast<std::ptrdiff_t>(stage))
      return std::nullopt;
  }
  return static_cast<int>(ring);
}

std::optional<std::string> why_not_interleaved(const Problem& problem) {
  bool several_rounds = false;
  for (const Model& model : problem.models)
    for (const auto& replica : model.replicas) {
      const auto ring = ring_of(replica);
      if (!ring)
        return fmt::format("the stages of model {} do not cycle through its devices in a fixed order", model.name);
      if (*ring < model.stages() && model.microbatches % *ring != 0)
        return fmt::format("model {} needs a multiple of {} micro-batches (the devices of its pipeline), got {}",
                           model.name, *ring, model.microbatches);
      several_rounds |= *ring < model.stages();
    }
  if (!several_rounds) return "no device has several stages of a model";
  return std::nullopt;
}

/// Appends the chain of one device for one mini-batch. Micro-batches go in groups of the ring's size. A group passes
/// through a device's first stage, then its second, and so on. Backwards use the opposite order of stages.
void append_interleaved(OpChain& chain, const Lowering& lowering, PipelineId pipeline, int ring, int rounds, int rank,
                        int first, int microbatches) {
  const int total = microbatches * rounds;
  const auto ops_of = [&](int index, bool forward) {
    const int group = index / (ring * rounds);
    const int round = index / ring % rounds;
    const MicrobatchId microbatch(first + group * ring + index % ring);
    const int chunk = forward ? round : rounds - 1 - round;
    return lowering.ops(pipeline, StageId(chunk * ring + rank), microbatch);
  };
  const int per_hop = rounds > 1 ? 2 : 1;
  const int ahead = std::min(total, (ring - rank - 1) * per_hop + (rounds - 1) * ring);
  for (int index = 0; index < total + ahead; ++index) {
    if (index < total) chain.push_back(ops_of(index, true).forward);
    if (index >= ahead) chain.push_back(ops_of(index - ahead, false).backward);
  }
}

}  // namespace

Answer solve_interleaved_1f1b(const Problem& problem, const SolveOptions&) {
  if (const auto why = why_not_interleaved(problem)) return NotApplicable{*why};
  Lowering lowering = pipeline::lower(problem, BackwardForm::whole);
  auto order = run_models_in_turn(problem, lowering, [&](const Lowering& lowered, PipelineId pipeline) {
    const auto [model_id, replica] = lowered.pipelines[pipeline.index()];
    const Model& model = problem.models[model_id.index()];
    const int ring = *ring_of(model.replicas[replica.index()]);
    const int rounds = model.stages() / ring;
    std::vector<OpChain> chains;
    for (int rank = 0; rank < ring; ++rank) {
      OpChain& chain = chains.emplace_back();
      for (int minibatch = 0; minibatch < model.minibatches; ++minibatch) {
        append_interleaved(chain, lowered, pipeline, ring, rounds, rank, minibatch * model.microbatches,
                           model.microbatches);
        for (int round = 0; round < rounds; ++round)
          append_step(chain, lowered, pipeline, StageId(round * ring + rank), minibatch);
      }
    }
    return chains;
  });
  return construction_answer("interleaved-1f1b", problem, std::move(lowering), std::move(order));
}

}  // namespace dovetail::fuse
