#include "pipeline/program/reductions.h"

#include <algorithm>
#include <tuple>

namespace dovetail::pipeline {
namespace {

/// When the ops that add to reductions have ended, by stage of the problem and mini-batch, over all replicas.
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
  /// Where two or more ranks are in it.
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
