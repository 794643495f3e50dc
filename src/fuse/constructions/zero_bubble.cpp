// Zero-bubble pipelines for split backwards: ZB-H1, ZB-H2 and ZB-V.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"
#include "fuse/constructions/building_blocks.h"
#include "fuse/constructions/constructions.h"

namespace dovetail::fuse {
namespace {

using pipeline::BackwardForm;
using pipeline::DeviceId;
using pipeline::Lowering;
using pipeline::MicrobatchId;
using pipeline::Model;
using pipeline::OpKind;
using pipeline::PipelineId;
using pipeline::Problem;
using pipeline::StageId;

std::optional<std::string> why_not_split(const Problem& problem) {
  for (const Model& model : problem.models)
    if (!model.split()) return fmt::format("model {} does not split its backward", model.name);
  return std::nullopt;
}

/// Appends one mini-batch of a stage: `ahead` forwards, then in turn I, the weight gradient of `lag` micro-batches
/// earlier, and F.
void append_split_1f1b(OpChain& chain, const Lowering& lowering, PipelineId pipeline, StageId stage, int first,
                       int microbatches, int ahead, int lag) {
  const auto ops = [&](int m) { return lowering.ops(pipeline, stage, MicrobatchId(first + m)); };
  ahead = std::min(ahead, microbatches);
  for (int m = 0; m < ahead; ++m) chain.push_back(ops(m).forward);
  for (int m = 0; m < microbatches; ++m) {
    chain.push_back(ops(m).backward);
    if (m >= lag) chain.push_back(ops(m - lag).weight_gradient);
    if (m + ahead < microbatches) chain.push_back(ops(m + ahead).forward);
  }
  for (int m = std::max(0, microbatches - lag); m < microbatches; ++m) chain.push_back(ops(m).weight_gradient);
}

/// Builds ZB-H1 (factor 1) or ZB-H2 (factor 2). Stage s of S runs factor * (S-s) - (factor-1) forwards ahead. Its
/// weight gradients are delayed by factor * s micro-batches.
Answer solve_handcrafted(std::string_view name, const Problem& problem, int factor) {
  if (const auto why = why_not_split(problem)) return NotApplicable{*why};
  for (const Model& model : problem.models)
    for (const auto& replica : model.replicas)
      if (!pipeline::on_distinct_devices(replica))
        return NotApplicable{fmt::format("model {} has several stages on a device", model.name)};
  Lowering lowering = pipeline::lower(problem, BackwardForm::split);
  auto order = run_models_in_turn(problem, lowering, [&](const Lowering& lowered, PipelineId pipeline) {
    const int stages = problem.models[lowered.pipelines[pipeline.index()].model.index()].stages();
    return chains_by_stage(
        problem, lowered, pipeline,
        [&](OpChain& chain, const Lowering& graph, PipelineId owner, StageId stage, int first, int microbatches) {
          const int ahead = factor * (stages - stage.value) - (factor - 1);
          append_split_1f1b(chain, graph, owner, stage, first, microbatches, ahead, factor * stage.value);
        });
  });
  return construction_answer(name, problem, std::move(lowering), std::move(order));
}

std::optional<std::string> why_not_v(const Problem& problem) {
  for (const Model& model : problem.models) {
    if (model.stages() % 2 != 0)
      return fmt::format("model {} needs an even number of stages, got {}", model.name, model.stages());
    for (const auto& replica : model.replicas) {
      const std::size_t half = replica.size() / 2;
      bool folded =
          pipeline::on_distinct_devices({replica.begin(), replica.begin() + static_cast<std::ptrdiff_t>(half)});
      for (std::size_t stage = 0; stage < half; ++stage)
        folded &= replica[stage] == replica[replica.size() - 1 - stage];
      if (!folded)
        return fmt::format("the stages of model {} do not form a V: down its devices and back up", model.name);
    }
  }
  return std::nullopt;
}

/// Simulates a V of p devices in slots of one op each and records the order on each device. A device holds at most 2p
/// activations. Preferences of a device: F of its second stage, I of its first, F of its first, I of its second, W of
/// its first, W of its second. When its memory is full and no I of its first stage is ready, W of its first stage goes
/// first. These preferences leave no bubble between a device's first and last op for p from 2 to 16 and m >= 2p. The
/// published scheduler also tries a few such rules.
class SlottedV {
 public:
  SlottedV(int devices, int microbatches)
      : devices_(devices), microbatches_(microbatches), columns_(2 * index_of(devices)), held_(index_of(devices)) {
    for (Column& column : columns_)
      for (auto* slots : {&column.forward_end, &column.backward_end}) slots->assign(index_of(microbatches), never);
  }

  /// An op of the V; its kind is F, I or W.
  struct Step {
    OpKind kind;
    int stage;
    int microbatch;
  };

  std::vector<std::vector<Step>> run() {
    std::vector<std::vector<Step>> steps(index_of(devices_));
    int remaining = 3 * static_cast<int>(columns_.size()) * microbatches_;
    for (int slot = 0; remaining > 0; ++slot) {
      const int before = remaining;
      for (int device = 0; device < devices_; ++device)
        if (const auto step = choose(device, slot)) {
          perform(*step, device, slot + 1);
          steps[index_of(device)].push_back(*step);
          --remaining;
        }
      DOVETAIL_ASSERT(remaining < before);  // a slot in which all devices idle would repeat forever
    }
    return steps;
  }

 private:
  static constexpr int never = 1 << 30;

  struct Column {
    int forwards = 0;
    int backwards = 0;
    int weight_gradients = 0;
    std::vector<int> forward_end;
    std::vector<int> backward_end;
  };

  static std::size_t index_of(int value) { return static_cast<std::size_t>(value); }

  bool forward_ready(int stage, int slot) const {
    const Column& own = columns_[index_of(stage)];
    return own.forwards < microbatches_ &&
           (stage == 0 || columns_[index_of(stage - 1)].forward_end[index_of(own.forwards)] <= slot);
  }

  bool backward_ready(int stage, int slot) const {
    const Column& own = columns_[index_of(stage)];
    if (own.backwards == own.forwards || own.forward_end[index_of(own.backwards)] > slot) return false;
    return stage + 1 == static_cast<int>(columns_.size()) ||
           columns_[index_of(stage + 1)].backward_end[index_of(own.backwards)] <= slot;
  }

  std::optional<Step> choose(int device, int slot) const {
    const int down = device;
    const int up = 2 * devices_ - 1 - device;
    const Column& first = columns_[index_of(down)];
    const Column& second = columns_[index_of(up)];
    const int headroom = 2 * devices_ - held_[index_of(device)];
    const auto pending = [](const Column& column) { return column.weight_gradients < column.backwards; };
    if (headroom == 0 && pending(first) && !backward_ready(down, slot))
      return Step{OpKind::W, down, first.weight_gradients};
    if (headroom > 0 && forward_ready(up, slot)) return Step{OpKind::F, up, second.forwards};
    if (backward_ready(down, slot)) return Step{OpKind::I, down, first.backwards};
    // The last activation slot is reserved for the second stage while none of its micro-batches waits for its backward.
    // Otherwise the V would deadlock.
    const bool keep = headroom == 1 && second.forwards < microbatches_ && second.forwards == second.backwards;
    if (headroom > 0 && !keep && forward_ready(down, slot)) return Step{OpKind::F, down, first.forwards};
    if (backward_ready(up, slot)) return Step{OpKind::I, up, second.backwards};
    if (pending(first)) return Step{OpKind::W, down, first.weight_gradients};
    if (pending(second)) return Step{OpKind::W, up, second.weight_gradients};
    return std::nullopt;
  }

  void perform(const Step& step, int device, int end) {
    Column& column = columns_[index_of(step.stage)];
    if (step.kind == OpKind::F) {
      column.forward_end[index_of(column.forwards++)] = end;
      ++held_[index_of(device)];
    } else if (step.kind == OpKind::I) {
      column.backward_end[index_of(column.backwards++)] = end;
    } else {
      ++column.weight_gradients;
      --held_[index_of(device)];
    }
  }

  int devices_;
  int microbatches_;
  std::vector<Column> columns_;
  std::vector<int> held_;
};

std::vector<OpChain> chains_of_v(const Problem& problem, const Lowering& lowering, PipelineId pipeline) {
  const auto [model_id, replica] = lowering.pipelines[pipeline.index()];
  const Model& model = problem.models[model_id.index()];
  const int devices = model.stages() / 2;
  const auto steps = SlottedV(devices, model.microbatches).run();
  std::vector<OpChain> chains;
  for (int device = 0; device < devices; ++device) {
    OpChain& chain = chains.emplace_back();
    for (int minibatch = 0; minibatch < model.minibatches; ++minibatch) {
      for (const auto& step : steps[static_cast<std::size_t>(device)]) {
        const MicrobatchId microbatch(minibatch * model.microbatches + step.microbatch);
        chain.push_back(lowering.find({step.kind, model_id, replica, StageId(step.stage), microbatch}));
      }
      append_step(chain, lowering, pipeline, StageId(device), minibatch);
      append_step(chain, lowering, pipeline, StageId(model.stages() - 1 - device), minibatch);
    }
  }
  return chains;
}

}  // namespace

Answer solve_zb_h1(const Problem& problem, const SolveOptions&) { return solve_handcrafted("zb-h1", problem, 1); }

Answer solve_zb_h2(const Problem& problem, const SolveOptions&) { return solve_handcrafted("zb-h2", problem, 2); }

Answer solve_zb_v(const Problem& problem, const SolveOptions&) {
  if (const auto why = why_not_split(problem)) return NotApplicable{*why};
  if (const auto why = why_not_v(problem)) return NotApplicable{*why};
  Lowering lowering = pipeline::lower(problem, BackwardForm::split);
  auto order = run_models_in_turn(problem, lowering, [&](const Lowering& lowered, PipelineId pipeline) {
    return chains_of_v(problem, lowered, pipeline);
  });
  return construction_answer("zb-v", problem, std::move(lowering), std::move(order));
}

}  // namespace dovetail::fuse
