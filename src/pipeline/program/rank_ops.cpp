#include "pipeline/program/rank_ops.h"

#include <algorithm>
#include <tuple>

namespace dovetail::pipeline {
namespace {

/// Collects the work of all ranks from the ops of the schedule.
class WorkCollector {
 public:
  WorkCollector(const Problem& problem, const Placement& placement)
      : problem_(problem), placement_(placement), work_(static_cast<std::size_t>(placement.ranks)) {
    for (std::size_t m = 0; m < placement.models.size(); ++m) add_stages(ModelId(m));
  }

  /// Adds an op of the problem, in each group and part, to each rank that computes it.
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
    // An op without duration comes before those that start where it ends.
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

  /// Parts that hand something on take equal shares of the op in turn; the others take all of it.
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
  std::vector<std::vector<std::vector<int>>> index_;  ///< [model][replica x stages + stage][member] into its stages
};

}  // namespace

std::vector<RankWork> work_of_ranks(const Schedule& schedule, const Placement& placement) {
  WorkCollector collector(schedule.problem, placement);
  for (const auto& device : schedule.devices)
    for (const ScheduledOp& op : device) collector.add(op);
  return std::move(collector).take();
}

}  // namespace dovetail::pipeline
