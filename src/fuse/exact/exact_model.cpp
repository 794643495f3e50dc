#include "fuse/exact/exact_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "fuse/bounds/position_bounds.h"

namespace dovetail::fuse {
namespace {

using base::Ticks;
using pipeline::Model;
using pipeline::OpGraph;
using pipeline::OpId;
using pipeline::PipelineId;
using pipeline::Problem;
using pipeline::StageId;

class ModelBuilder {
 public:
  explicit ModelBuilder(const Problem& problem) : problem_(problem) {
    result_.lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
    op_of_.resize(graph().size());
    result_.classes_of_device.resize(static_cast<std::size_t>(problem.devices));
    result_.stages_of_device.resize(static_cast<std::size_t>(problem.devices));
  }

  ExactModel run() && {
    const std::vector<StageBounds> bounds = position_bounds(problem_);
    std::size_t stage_index = 0;
    for (std::size_t pipeline = 0; pipeline < result_.lowering.pipelines.size(); ++pipeline) {
      const Model& model = model_of(pipeline);
      for (int stage = 0; stage < model.stages(); ++stage)
        add_stage(PipelineId(pipeline), StageId(stage), bounds[stage_index++]);
    }
    chain_equal_pipelines();
    fill_waits();
    find_time_grain();
    return std::move(result_);
  }

 private:
  const OpGraph& graph() const { return result_.lowering.graph; }
  const Model& model_of(std::size_t pipeline) const {
    return problem_.models[result_.lowering.pipelines[pipeline].model.index()];
  }

  void add_class(const std::vector<OpId>& ops, const std::vector<Ticks>& tails) {
    const std::size_t first = ops[0].index();
    ExactClass added;
    added.device = graph().device[first].index();
    added.duration = graph().duration[first].count();
    added.acquire = graph().acquire[first].count();
    added.release = graph().release[first].count();
    added.first = result_.size();
    added.count = ops.size();
    const std::size_t index = result_.classes.size();
    for (std::size_t k = 0; k < ops.size(); ++k) {
      op_of_[ops[k].index()] = result_.size();
      result_.class_of.push_back(index);
      result_.graph_op.push_back(ops[k]);
      result_.tail.push_back(tails[k].count());
    }
    result_.classes_of_device[added.device].push_back(index);
    result_.classes.push_back(added);
  }

  void add_stage(PipelineId pipeline, StageId stage, const StageBounds& bounds) {
    const Model& model = model_of(pipeline.index());
    std::vector<OpId> forward;
    std::vector<OpId> backward;
    std::vector<OpId> weight_gradient;
    for (int m = 0; m < model.total_microbatches(); ++m) {
      const pipeline::MicrobatchOps& ops = result_.lowering.ops(pipeline, stage, pipeline::MicrobatchId(m));
      forward.push_back(ops.forward);
      backward.push_back(ops.backward);
      weight_gradient.push_back(ops.weight_gradient);
    }
    const std::size_t first = result_.classes.size();
    result_.stages_of_device[bounds.device.index()].push_back(result_.activation.size());
    std::vector<std::size_t>& activation = result_.activation.emplace_back();
    add_class(forward, bounds.tails.forward);
    add_class(backward, bounds.tails.backward);
    if (model.split()) add_class(weight_gradient, bounds.tails.weight_gradient);
    for (std::size_t index = first; index < result_.classes.size(); ++index) activation.push_back(index);
    const auto& steps =
        result_.lowering.steps[static_cast<std::size_t>(result_.lowering.pipeline_stage(pipeline, stage))];
    if (!steps.empty()) add_class(steps, bounds.tails.step);
    first_class_.push_back(first);
  }

  /// Whether two pipelines are interchangeable. If so, the first may run all its micro-batches before the second's.
  bool are_equal(std::size_t a, std::size_t b) const {
    const Model& first = model_of(a);
    const Model& second = model_of(b);
    const auto devices = [&](std::size_t index) -> const std::vector<base::DeviceId>& {
      return model_of(index).replicas[result_.lowering.pipelines[index].replica.index()];
    };
    return !first.has_steps() && !second.has_steps() && devices(a) == devices(b) && first.forward == second.forward &&
           first.backward == second.backward && first.weight_gradient == second.weight_gradient &&
           first.activation == second.activation && first.weight_activation == second.weight_activation &&
           first.transfer_forward == second.transfer_forward && first.transfer_backward == second.transfer_backward;
  }

  void chain_equal_pipelines() {
    const auto& lowering = result_.lowering;
    for (std::size_t later = 0; later < lowering.pipelines.size(); ++later)
      for (std::size_t earlier = later; earlier-- > 0;) {
        if (!are_equal(earlier, later)) continue;
        const auto begin = first_class_[static_cast<std::size_t>(lowering.stage_begin[later])];
        const auto before = first_class_[static_cast<std::size_t>(lowering.stage_begin[earlier])];
        const std::size_t kinds = model_of(later).split() ? 3 : 2;
        for (std::size_t i = 0; i < kinds * static_cast<std::size_t>(model_of(later).stages()); ++i) {
          const ExactClass& own = result_.classes[before + i];
          chained_.emplace_back(result_.classes[begin + i].first, own.first + own.count - 1);
        }
        break;
      }
  }

  void fill_waits() {
    std::sort(chained_.begin(), chained_.end());
    std::size_t next_chained = 0;
    std::vector<Wait> row;
    for (std::size_t op = 0; op < result_.size(); ++op) {
      result_.waits.begin.push_back(result_.waits.waits.size());
      row.clear();
      for (const pipeline::Arc& arc : graph().predecessors(result_.graph_op[op]))
        row.push_back({op_of_[arc.op.index()], arc.lag.count()});
      for (; next_chained < chained_.size() && chained_[next_chained].first == op; ++next_chained)
        row.push_back({chained_[next_chained].second, 0});
      keep_last_of_each_class(row);
      ExactClass& own = result_.classes[result_.class_of[op]];
      std::size_t senders = 0;
      for (const Wait& wait : row) {
        const ExactClass& sender = result_.classes[result_.class_of[wait.op]];
        own.awaits_several |= wait.lag > 0;
        if (sender.device == own.device) continue;
        ++senders;
        // The sender is an optimizer step of another replica that a whole mini-batch waits for.
        own.awaits_several |= sender.count < own.count;
      }
      own.awaits_several |= senders > 1;
      result_.waits.waits.insert(result_.waits.waits.end(), row.begin(), row.end());
    }
    result_.waits.begin.push_back(result_.waits.waits.size());
  }

  /// A step waits for all ops of a mini-batch; the last of each class is enough.
  void keep_last_of_each_class(std::vector<Wait>& row) const {
    std::sort(row.begin(), row.end(), [](const Wait& a, const Wait& b) { return a.op > b.op; });
    const auto same_class = [this](const Wait& a, const Wait& b) {
      return result_.class_of[a.op] == result_.class_of[b.op];
    };
    row.erase(std::unique(row.begin(), row.end(), same_class), row.end());
  }

  void find_time_grain() {
    std::int64_t grain = 0;
    for (const ExactClass& own : result_.classes) grain = std::gcd(grain, own.duration);
    for (const Wait& wait : result_.waits.waits) grain = std::gcd(grain, wait.lag);
    result_.time_grain = grain;
  }

  const Problem& problem_;
  ExactModel result_;
  std::vector<std::size_t> op_of_;        // [op of the graph]
  std::vector<std::size_t> first_class_;  // [pipeline stage]
  // (op of a pipeline, op of an equal earlier pipeline that it waits for)
  std::vector<std::pair<std::size_t, std::size_t>> chained_;
};

/// Adds the waits that the caps imply within each pipeline: a forward needs memory that only earlier backwards can
/// release.
class CapBuilder {
 public:
  CapBuilder(const ExactModel& model, std::vector<std::int64_t> cap) : model_(model), forced_(model.size()) {
    result_.cap = std::move(cap);
  }

  CappedModel run() && {
    for (const auto& stages : model_.stages_of_device)
      for (std::size_t i = 0; i < stages.size(); ++i) force_stage(stages, i);
    fill_waits();
    fill_order();
    fill_tails();
    return std::move(result_);
  }

 private:
  /// When forward k starts, `headroom` limits how many of the k earlier ones still hold memory to `headroom / each`.
  /// The others must have ended their `releasing` op.
  void force(const ExactClass& forward, const ExactClass& releasing, std::int64_t headroom, std::int64_t each) {
    if (each == 0 || headroom / each >= static_cast<std::int64_t>(forward.count)) return;
    const auto kept = static_cast<std::size_t>(headroom / each);
    for (std::size_t k = kept + 1; k < forward.count; ++k)
      forced_[forward.first + k].push_back({releasing.first + (k - kept - 1), 0});
  }

  /// At the start of forward k of a stage, its own micro-batch is held on the lower stages of its pipeline on the
  /// device. An earlier micro-batch that a lower stage still holds is also held on the stages in between, because their
  /// backwards come first.
  void force_stage(const std::vector<std::size_t>& stages, std::size_t i) {
    const std::vector<std::size_t>& own = model_.activation[stages[i]];
    const ExactClass& forward = model_.classes[own[0]];
    if (own.size() > 2) {
      const ExactClass& weight_gradient = model_.classes[own[2]];
      force(forward, weight_gradient, result_.cap[forward.device] - forward.acquire, weight_gradient.release);
    }
    std::int64_t microbatch = 0;  // activation of a micro-batch on all its stages up to this one
    std::int64_t lower = 0;
    for (std::size_t j = 0; j <= i; ++j)
      if (is_same_pipeline(stages[j], stages[i])) microbatch += model_.classes[model_.activation[stages[j]][0]].acquire;
    for (std::size_t j = 0; j <= i; ++j) {
      if (!is_same_pipeline(stages[j], stages[i])) continue;
      lower += model_.classes[model_.activation[stages[j]][0]].acquire;
      force(forward, model_.classes[model_.activation[stages[j]][1]], result_.cap[forward.device] - microbatch, lower);
    }
  }

  bool is_same_pipeline(std::size_t stage, std::size_t other) const {
    return model_.lowering.pipeline_of(label_of(stage)) == model_.lowering.pipeline_of(label_of(other));
  }
  const pipeline::OpLabel& label_of(std::size_t stage) const {
    return model_.lowering.graph.labels[model_.graph_op[model_.classes[model_.activation[stage][0]].first].index()];
  }

  void fill_waits() {
    for (std::size_t op = 0; op < model_.size(); ++op) {
      result_.waits.begin.push_back(result_.waits.waits.size());
      for (std::size_t i = model_.waits.begin[op]; i < model_.waits.begin[op + 1]; ++i)
        result_.waits.waits.push_back(model_.waits.waits[i]);
      result_.waits.waits.insert(result_.waits.waits.end(), forced_[op].begin(), forced_[op].end());
    }
    result_.waits.begin.push_back(result_.waits.waits.size());
  }

  template <class Visit>
  void for_each_wait(std::size_t op, Visit visit) const {
    if (op > model_.classes[model_.class_of[op]].first) visit(Wait{op - 1, 0});
    for (std::size_t i = result_.waits.begin[op]; i < result_.waits.begin[op + 1]; ++i) visit(result_.waits.waits[i]);
  }

  void fill_order() {
    std::vector<std::vector<std::size_t>> followers(model_.size());
    std::vector<std::size_t> open(model_.size());
    for (std::size_t op = 0; op < model_.size(); ++op) {
      for_each_wait(op, [&](const Wait& wait) {
        followers[wait.op].push_back(op);
        ++open[op];
      });
      if (open[op] == 0) result_.order.push_back(op);
    }
    for (std::size_t done = 0; done < result_.order.size(); ++done)
      for (const std::size_t follower : followers[result_.order[done]])
        if (--open[follower] == 0) result_.order.push_back(follower);
    DOVETAIL_ASSERT(result_.order.size() == model_.size());
  }

  /// Computes tails from paths and from one-machine bounds: for each op and device, over everything that must follow
  /// the op there.
  void fill_tails() {
    result_.tail = model_.tail;
    for (std::size_t i = model_.size(); i-- > 0;) {
      const std::size_t op = result_.order[i];
      raise_by_machines(i);
      for_each_wait(op, [&](const Wait& wait) {
        result_.tail[wait.op] = std::max(result_.tail[wait.op], wait.lag + duration_of(op) + result_.tail[op]);
      });
    }
  }

  std::int64_t duration_of(std::size_t op) const { return model_.classes[model_.class_of[op]].duration; }

  void raise_by_machines(std::size_t position) {
    const std::size_t op = result_.order[position];
    std::vector<std::int64_t> after(model_.size(),
                                    -1);  // minimum time from the op's end to the start of each op that must follow it
    std::vector<std::vector<Job>> machines(model_.classes_of_device.size());
    for (std::size_t i = position + 1; i < model_.size(); ++i) {
      const std::size_t later = result_.order[i];
      for_each_wait(later, [&](const Wait& wait) {
        if (wait.op == op)
          after[later] = std::max(after[later], wait.lag);
        else if (after[wait.op] >= 0)
          after[later] = std::max(after[later], after[wait.op] + duration_of(wait.op) + wait.lag);
      });
      if (after[later] < 0) continue;
      machines[model_.classes[model_.class_of[later]].device].push_back(
          {Ticks(after[later]), Ticks(duration_of(later)), Ticks(result_.tail[later])});
    }
    for (auto& jobs : machines)
      if (!jobs.empty()) result_.tail[op] = std::max(result_.tail[op], preemptive_one_machine(std::move(jobs)).count());
  }

  const ExactModel& model_;
  std::vector<std::vector<Wait>> forced_;  // [op]
  CappedModel result_;
};

}  // namespace

ExactModel make_exact_model(const Problem& problem) { return ModelBuilder(problem).run(); }

CappedModel make_capped_model(const ExactModel& model, std::vector<std::int64_t> cap) {
  return CapBuilder(model, std::move(cap)).run();
}

namespace {

/// Above this many sums, levels are not enumerated.
constexpr std::size_t max_levels = 1 << 18;

void sort_and_remove_equal(std::vector<std::int64_t>& levels) {
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
}

/// Returns what a pipeline stage can hold, up to `most`: micro-batches that wait for their backward, and others that
/// wait for W.
std::optional<std::vector<std::int64_t>> levels_of_stage(const ExactModel& model, const std::vector<std::size_t>& stage,
                                                         std::int64_t most) {
  const ExactClass& forward = model.classes[stage[0]];
  const auto count = static_cast<std::int64_t>(forward.count);
  const std::int64_t kept = stage.size() > 2 ? model.classes[stage[2]].release : 0;
  std::vector<std::int64_t> levels;
  for (std::int64_t whole = 0; whole <= count && whole * forward.acquire <= most; ++whole)
    for (std::int64_t part = 0; part <= count - whole && whole * forward.acquire + part * kept <= most; ++part) {
      levels.push_back(whole * forward.acquire + part * kept);
      if (kept == 0) break;
    }
  sort_and_remove_equal(levels);
  if (levels.size() > max_levels) return std::nullopt;
  return levels;
}

/// Returns the sums of one level of each stage on the device, up to `most`.
std::optional<std::vector<std::int64_t>> levels_of_device(const ExactModel& model, std::size_t device,
                                                          std::int64_t most) {
  std::vector<std::int64_t> sums{0};
  for (const auto& stage : model.activation) {
    if (model.classes[stage[0]].device != device) continue;
    const auto levels = levels_of_stage(model, stage, most);
    if (!levels || levels->size() * sums.size() > 16 * max_levels) return std::nullopt;
    std::vector<std::int64_t> larger;
    for (const std::int64_t sum : sums)
      for (const std::int64_t level : *levels) {
        if (sum + level > most) break;
        larger.push_back(sum + level);
      }
    sort_and_remove_equal(larger);
    sums = std::move(larger);
    if (sums.size() > max_levels) return std::nullopt;
  }
  return sums;
}

}  // namespace

Levels::Levels(const ExactModel& model, const std::vector<std::int64_t>& caps, std::int64_t least, std::int64_t peak) {
  if (least >= peak) return;
  for (std::size_t device = 0; listed_ && device < caps.size(); ++device) {
    const auto levels = levels_of_device(model, device, std::min(peak - 1, caps[device]));
    listed_ = levels.has_value();
    if (!listed_) break;
    levels_.insert(levels_.end(), std::lower_bound(levels->begin(), levels->end(), least), levels->end());
  }
  if (!listed_) levels_.clear();
  sort_and_remove_equal(levels_);
  begin_ = listed_ ? 0 : least;
  end_ = listed_ ? static_cast<std::int64_t>(levels_.size()) : peak;
}

std::optional<std::int64_t> Levels::middle() const {
  if (begin_ >= end_) return std::nullopt;
  const std::int64_t middle = std::midpoint(begin_, end_);
  return listed_ ? levels_[static_cast<std::size_t>(middle)] : middle;
}

std::optional<std::int64_t> Levels::least() const {
  if (begin_ >= end_) return std::nullopt;
  return listed_ ? levels_[static_cast<std::size_t>(begin_)] : begin_;
}

void Levels::drop_up_to(std::int64_t peak) {
  begin_ = listed_ ? std::upper_bound(levels_.begin(), levels_.end(), peak) - levels_.begin() : peak + 1;
}

void Levels::drop_from(std::int64_t peak) {
  end_ = listed_ ? std::lower_bound(levels_.begin(), levels_.end(), peak) - levels_.begin() : peak;
}

}  // namespace dovetail::fuse
