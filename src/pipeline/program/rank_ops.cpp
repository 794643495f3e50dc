#include "pipeline/program/rank_ops.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "base/assert.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::pipeline {
namespace {

/// Collects the work of all ranks from the ops of the schedule.
class WorkCollector {
 public:
  WorkCollector(const Problem& problem, const Placement& placement)
      : problem_(problem), placement_(placement), work_(static_cast<std::size_t>(placement.ranks)) {
    for (std::size_t m = 0; m < placement.models.size(); ++m) add_stages(ModelId(m));
  }

  /// Adds an op of the problem to each rank that computes it, for every group and part.
  void add(const ScheduledOp& op) {
    const ModelPlacement& own = placement_.models[op.label.model.index()];
    const int copies = static_cast<int>(problem_.models[op.label.model.index()].replicas.size());
    for (int group = 0; group < placement_.groups; ++group)
      for (int part = 0; part < own.parts; ++part) {
        OpLabel label = op.label;
        label.replica.value += group * copies;
        label.stage.value = op.label.stage.value * own.parts + part;
        add_part(label, part, op);
      }
  }

  std::vector<RankWork> take() && {
    // An op without duration comes before ops that start at its end.
    for (RankWork& work : work_)
      std::stable_sort(work.ops.begin(), work.ops.end(), [](const RankOp& a, const RankOp& b) {
        return std::tuple(a.start, a.end) < std::tuple(b.start, b.end);
      });
    return std::move(work_);
  }

 private:
  void add_stages(ModelId model) {
    const Model& costs = problem_.models[model.index()];
    const ModelPlacement& own = placement_.models[model.index()];
    index_.emplace_back();
    for (std::size_t r = 0; r < own.ranks.size(); ++r)
      for (std::size_t s = 0; s < own.ranks[r].size(); ++s) {
        const std::size_t of_problem = s / static_cast<std::size_t>(own.parts);
        std::vector<int>& indices = index_.back().emplace_back();
        for (const int rank : own.ranks[r][s]) {
          std::vector<ProgramStage>& stages = work_[static_cast<std::size_t>(rank)].stages;
          indices.push_back(static_cast<int>(stages.size()));
          stages.push_back({model, ReplicaId(r), StageId(s), costs.activation[of_problem],
                            costs.split() ? costs.weight_activation[of_problem] : costs.activation[of_problem],
                            own.ranks[r][s]});
        }
      }
  }

  void add_part(const OpLabel& label, int part, const ScheduledOp& op) {
    const ModelPlacement& own = placement_.models[label.model.index()];
    const std::vector<int>& ranks = own.ranks[label.replica.index()][label.stage.index()];
    const auto [start, end] = interval_of(op, part, own.parts);
    const std::size_t slot = label.replica.index() * static_cast<std::size_t>(own.stages()) + label.stage.index();
    for (std::size_t i = 0; i < ranks.size(); ++i)
      work_[static_cast<std::size_t>(ranks[i])].ops.push_back(
          {label, index_[label.model.index()][slot][i], static_cast<int>(i), start, end});
  }

  /// Parts that pass on an output take equal shares of the op in turn; all others take the whole op.
  static std::pair<Ticks, Ticks> interval_of(const ScheduledOp& op, int part, int parts) {
    const OutputTo output = traits_of(op.label.kind).output;
    if (parts == 1 || output == OutputTo::nowhere) return {op.start, op.end};
    const int turn = output == OutputTo::next_stage ? part : parts - 1 - part;
    const std::int64_t share = (op.end - op.start).count() / parts;
    const Ticks start = op.start + Ticks(share * turn);
    return {start, turn + 1 == parts ? op.end : start + Ticks(share)};
  }

  const Problem& problem_;
  const Placement& placement_;
  std::vector<RankWork> work_;
  std::vector<std::vector<std::vector<int>>>
      index_;  ///< [model][replica x stages + stage][member] index into its stages
};

}  // namespace

std::vector<RankWork> work_of_ranks(const Schedule& schedule, const Placement& placement) {
  WorkCollector collector(schedule.problem, placement);
  for (const auto& device : schedule.devices)
    for (const ScheduledOp& op : device) collector.add(op);
  return std::move(collector).take();
}

namespace {

/// Returns the transfers between the stages of ranks: zero within a merged stage.
std::vector<Ticks> transfers_of(const std::vector<Ticks>& transfers, std::size_t parts) {
  std::vector<Ticks> all;
  for (const Ticks transfer : transfers) {
    all.insert(all.end(), parts - 1, Ticks());
    all.push_back(transfer);
  }
  all.insert(all.end(), parts - 1, Ticks());
  return all;
}

/// Returns `model` with the stages of its ranks; durations of ops are set later.
Model stages_of_ranks(const Model& model, const ModelPlacement& placement) {
  const auto parts = static_cast<std::size_t>(placement.parts);
  DOVETAIL_ASSERT(parts == 1 || !model.split());
  Model own = model;
  own.replicas.clear();
  for (const auto& stages : placement.ranks) {
    auto& devices = own.replicas.emplace_back();
    for (const std::vector<int>& ranks : stages) {
      DOVETAIL_ASSERT(ranks.size() == 1);
      devices.emplace_back(ranks.front());
    }
  }
  const auto divided = [&](const auto& values) {
    auto all = values;
    all.clear();
    for (const auto& value : values) all.insert(all.end(), parts, value);
    return all;
  };
  for_each_duration(own, [&](std::vector<Ticks>& times, const OpTraits&) { times = divided(times); });
  own.activation = divided(model.activation);
  own.weight_activation = divided(model.weight_activation);
  own.transfer_forward = transfers_of(model.transfer_forward, parts);
  own.transfer_backward = transfers_of(model.transfer_backward, parts);
  return own;
}

/// Sets the durations of each stage from the ops of the ranks.
void take_durations(const std::vector<ScheduledOp>& ops, std::vector<Model>& models) {
  for (const ScheduledOp& op : ops) {
    Model& model = models[op.label.model.index()];
    const OpTraits& traits = traits_of(op.label.kind);
    if (traits.backward == BackwardPart::whole && model.split()) continue;
    (model.*traits.duration)[op.label.stage.index()] = op.end - op.start;
  }
}

}  // namespace

Schedule schedule_of_ranks(const Schedule& schedule, const Placement& placement) {
  Schedule own;
  own.problem.time_unit = schedule.problem.time_unit;
  own.problem.devices = placement.ranks;
  own.problem.resident.assign(static_cast<std::size_t>(placement.ranks), Memory());
  for (std::size_t m = 0; m < placement.models.size(); ++m)
    own.problem.models.push_back(stages_of_ranks(schedule.problem.models[m], placement.models[m]));
  for (const RankWork& rank : work_of_ranks(schedule, placement)) {
    std::vector<ScheduledOp>& ops = own.devices.emplace_back();
    for (const RankOp& op : rank.ops) ops.push_back({op.label, op.start, op.end});
    take_durations(ops, own.problem.models);
  }
  const LoweredSchedule lowered = evaluate(own);
  return to_schedule(own.problem, lowered.lowering.graph, lowered.evaluation);
}

namespace {

/// Ends of the ops that add to reductions, by stage of the problem and mini-batch, over all replicas.
struct Ends {
  std::vector<std::vector<Ticks>> backward;
  std::vector<std::vector<Ticks>> step;

  Ticks last_backward(int minibatch) const {
    Ticks last;
    for (const auto& stage : backward) last = std::max(last, stage[static_cast<std::size_t>(minibatch)]);
    return last;
  }
};

std::vector<Ends> ends_of(const Schedule& schedule) {
  std::vector<Ends> ends;
  for (const Model& model : schedule.problem.models) {
    const std::vector<std::vector<Ticks>> none(model.forward.size(),
                                               std::vector<Ticks>(static_cast<std::size_t>(model.minibatches)));
    ends.push_back({none, none});
  }
  for (const auto& device : schedule.devices)
    for (const ScheduledOp& op : device) {
      const bool step = op.label.kind == OpKind::S;
      if (!step && !ends_backward(op.label.kind)) continue;
      const Model& model = schedule.problem.models[op.label.model.index()];
      Ends& own = ends[op.label.model.index()];
      const int minibatch = step ? op.label.microbatch.value : op.label.microbatch.value / model.microbatches;
      Ticks& end = (step ? own.step : own.backward)[op.label.stage.index()][static_cast<std::size_t>(minibatch)];
      end = std::max(end, op.end);
    }
  return ends;
}

/// Lists the reductions of one model.
class ModelReductions {
 public:
  ModelReductions(ModelId model, const ModelPlacement& placement, const Exchanges& exchanges, const Ends& ends,
                  std::vector<SharedReduction>& list)
      : model_(model), placement_(placement), exchanges_(exchanges), ends_(ends), list_(list) {}

  void add(int minibatch) {
    for (int stage = 0; stage < placement_.stages(); ++stage) {
      add_over_replicas(ReductionKind::gradients, stage, minibatch, ends_.backward);
      if (exchanges_.shards_steps) add_over_replicas(ReductionKind::weights, stage, minibatch, ends_.step);
    }
    if (exchanges_.tied && placement_.stages() > 1) add_tied(minibatch);
    if (exchanges_.clips_by_norm)
      put({ReductionKind::norm, model_, minibatch, {}, ends_.last_backward(minibatch), all()});
  }

 private:
  /// Adds the reduction if two or more ranks take part.
  void put(SharedReduction reduction) {
    std::vector<int>& ranks = reduction.ranks;
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    if (ranks.size() > 1) list_.push_back(std::move(reduction));
  }

  void add_over_replicas(ReductionKind kind, int stage, int minibatch, const std::vector<std::vector<Ticks>>& ends) {
    const Ticks ready = ends[static_cast<std::size_t>(stage / placement_.parts)][static_cast<std::size_t>(minibatch)];
    for (int member = 0; member < placement_.tensor_parallel(); ++member) {
      SharedReduction reduction{kind, model_, minibatch, StageId(stage), ready, {}};
      for (const auto& replica : placement_.ranks)
        reduction.ranks.push_back(replica[static_cast<std::size_t>(stage)][static_cast<std::size_t>(member)]);
      put(std::move(reduction));
    }
  }

  void add_tied(int minibatch) {
    const auto k = static_cast<std::size_t>(minibatch);
    const Ticks ready = std::max(ends_.backward.front()[k], ends_.backward.back()[k]);
    for (std::size_t member = 0; member < static_cast<std::size_t>(placement_.tensor_parallel()); ++member) {
      SharedReduction reduction{ReductionKind::tied, model_, minibatch, {}, ready, {}};
      for (const auto& replica : placement_.ranks) {
        reduction.ranks.push_back(replica.front()[member]);
        reduction.ranks.push_back(replica.back()[member]);
      }
      put(std::move(reduction));
    }
  }

  std::vector<int> all() const {
    std::vector<int> ranks;
    for (const auto& replica : placement_.ranks)
      for (const auto& stage : replica) ranks.insert(ranks.end(), stage.begin(), stage.end());
    return ranks;
  }

  ModelId model_;
  const ModelPlacement& placement_;
  const Exchanges& exchanges_;
  const Ends& ends_;
  std::vector<SharedReduction>& list_;
};

}  // namespace

std::vector<SharedReduction> reductions_of(const Schedule& schedule, const Placement& placement,
                                           const std::vector<Exchanges>& exchanges) {
  const std::vector<Ends> ends = ends_of(schedule);
  std::vector<SharedReduction> list;
  for (std::size_t m = 0; m < schedule.problem.models.size(); ++m) {
    const Model& model = schedule.problem.models[m];
    if (!model.has_steps()) continue;
    ModelReductions reductions(ModelId(m), placement.models[m], exchanges[m], ends[m], list);
    for (int minibatch = 0; minibatch < model.minibatches; ++minibatch) reductions.add(minibatch);
  }
  std::stable_sort(list.begin(), list.end(), [](const SharedReduction& a, const SharedReduction& b) {
    return std::tuple(a.ready, a.kind, a.model, a.minibatch) < std::tuple(b.ready, b.kind, b.model, b.minibatch);
  });
  return list;
}

bool ReductionRules::adds(const OpLabel& op, const SharedReduction& reduction) const {
  if (op.model != reduction.model || minibatch_of(op) != reduction.minibatch) return false;
  switch (reduction.kind) {
    case ReductionKind::gradients:
      return ends_backward(op.kind) && op.stage == reduction.stage;
    case ReductionKind::tied:
      return ends_backward(op.kind) && is_at_either_end(op);
    case ReductionKind::norm:
      return ends_backward(op.kind);
    case ReductionKind::weights:
      break;
  }
  return op.kind == OpKind::S && op.stage == reduction.stage;
}

bool ReductionRules::needs(const OpLabel& op, const SharedReduction& reduction) const {
  if (op.model != reduction.model) return false;
  const bool own_step = op.kind == OpKind::S && op.microbatch.value == reduction.minibatch;
  switch (reduction.kind) {
    case ReductionKind::gradients:
      return own_step && op.stage == reduction.stage;
    case ReductionKind::tied:
      return own_step && is_at_either_end(op);
    case ReductionKind::norm:
      return own_step;
    case ReductionKind::weights:
      break;
  }
  return op.kind == OpKind::F && op.stage == reduction.stage && minibatch_of(op) == reduction.minibatch + 1;
}

int ReductionRules::minibatch_of(const OpLabel& op) const {
  return op.kind == OpKind::S ? op.microbatch.value
                              : op.microbatch.value / problem_.models[op.model.index()].microbatches;
}

bool ReductionRules::is_at_either_end(const OpLabel& op) const {
  return op.stage.value == 0 || op.stage.value + 1 == placement_.models[op.model.index()].stages();
}

}  // namespace dovetail::pipeline
