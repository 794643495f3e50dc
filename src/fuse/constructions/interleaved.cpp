// Interleaved 1F1B.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "fuse/constructions/constructions.h"
#include "fuse/constructions/serial.h"

namespace dovetail::fuse {
namespace {

using pipeline::BackwardForm;
using pipeline::DeviceId;
using pipeline::Lowering;
using pipeline::MicrobatchId;
using pipeline::Model;
using pipeline::PipelineId;
using pipeline::Problem;
using pipeline::StageId;

/// How many devices a replica goes round, over and over in the same order; nothing where it does not.
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
      if (!ring) return fmt::format("the stages of model {} do not go round its devices in one order", model.name);
      if (*ring < model.stages() && model.microbatches % *ring != 0)
        return fmt::format("model {} has {} micro-batches, no multiple of its {} devices", model.name,
                           model.microbatches, *ring);
      several_rounds |= *ring < model.stages();
    }
  if (!several_rounds) return "no device has several stages of a model";
  return std::nullopt;
}

/// The chain of one device for one mini-batch. Micro-batches go in groups as large as the ring; a group passes through
/// a device's first stage, then its second, ...; backwards in the opposite order of stages.
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
