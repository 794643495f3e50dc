#include "fuse/bounds/position_network.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "fuse/bounds/position_bounds.h"

namespace dovetail::fuse {
namespace {

using base::DeviceId;
using base::Memory;
using base::PipelineId;
using base::ReplicaId;
using base::StageId;
using base::Ticks;
using pipeline::Model;
using pipeline::Problem;
using pipeline::StepAfter;
using pipeline::StepBefore;

/// The rows of one stage, -1 if a row does not exist.
struct StageRows {
  std::int32_t forward = -1;
  std::int32_t backward = -1;
  std::int32_t weight_gradient = -1;
  std::int32_t step = -1;

  std::int32_t last() const { return weight_gradient >= 0 ? weight_gradient : backward; }
};

/// Builds one network, pipeline by pipeline.
class Builder {
 public:
  explicit Builder(const Problem& problem) : problem_(problem), bounds_(position_bounds(problem)) {
    network_.devices = problem.devices;
    network_.on.resize(static_cast<std::size_t>(problem.devices));
    network_.ops_on.resize(static_cast<std::size_t>(problem.devices));
  }

  PositionNetwork run() && {
    const std::vector<pipeline::Pipeline> pipelines = pipeline::pipelines_of(problem_);
    for (std::size_t index = 0; index < pipelines.size(); ++index) add_rows(PipelineId(index), pipelines[index]);
    for (const pipeline::Pipeline pipeline : pipelines)
      add_arcs(problem_.models[pipeline.model.index()], pipeline.replica);
    finish();
    sort_by_length(pipelines);
    return std::move(network_);
  }

 private:
  std::int32_t add_row(PipelineId pipeline, DeviceId device, Ticks duration, Memory change, bool is_middle,
                       std::span<const Ticks> heads, std::span<const Ticks> tails) {
    PositionRow row;
    row.pipeline = pipeline;
    row.device = device;
    row.begin = static_cast<std::int32_t>(network_.row_of.size());
    row.end = row.begin + static_cast<std::int32_t>(heads.size());
    row.duration = duration;
    row.change = change;
    row.is_middle = is_middle;
    const auto number = static_cast<std::int32_t>(network_.rows.size());
    std::vector<std::int32_t>& on_device = network_.on[device.index()];
    row.on_device = static_cast<std::int32_t>(on_device.size());
    row.first_on_device = network_.ops_on[device.index()];
    network_.ops_on[device.index()] += row.size();
    on_device.push_back(number);
    network_.rows.push_back(row);
    network_.row_of.insert(network_.row_of.end(), heads.size(), number);
    network_.heads.insert(network_.heads.end(), heads.begin(), heads.end());
    network_.tails.insert(network_.tails.end(), tails.begin(), tails.end());
    return number;
  }

  void add_rows(PipelineId id, pipeline::Pipeline pipeline) {
    const Model& model = problem_.models[pipeline.model.index()];
    const auto stages = static_cast<std::size_t>(model.stages());
    for (std::size_t s = 0; s < stages; ++s) {
      const StageBounds& bounds = bounds_[stage_rows_.size()];
      const DeviceId device = model.replicas[pipeline.replica.index()][s];
      const bool is_middle = s == stages / 2;
      const Memory activation = model.activation[s];
      const Memory kept = model.split() ? model.weight_activation[s] : Memory(0);
      StageRows rows;
      rows.forward =
          add_row(id, device, model.forward[s], activation, is_middle, bounds.heads.forward, bounds.tails.forward);
      rows.backward = add_row(id, device, model.backward[s], kept - activation, is_middle, bounds.heads.backward,
                              bounds.tails.backward);
      if (model.split())
        rows.weight_gradient = add_row(id, device, model.weight_gradient[s], Memory(0) - kept, is_middle,
                                       bounds.heads.weight_gradient, bounds.tails.weight_gradient);
      if (model.has_steps())
        rows.step = add_row(id, device, model.step[s], Memory(0), is_middle, bounds.heads.step, bounds.tails.step);
      stage_rows_.push_back(rows);
    }
  }

  void add_arc(std::int32_t from, std::int32_t to, Ticks lag, Correspondence correspondence = Correspondence::same,
               int minibatch_size = 1) {
    const Ticks distance = network_.rows[static_cast<std::size_t>(from)].duration + lag;
    network_.arcs.push_back({from, to, correspondence, minibatch_size, distance});
  }

  /// Adds the rules of one pipeline. The rows of its stages start at `next_`; those of the model's replica 0 start at
  /// `next_` - replica x stages.
  void add_arcs(const Model& model, ReplicaId replica) {
    const auto stages = static_cast<std::size_t>(model.stages());
    const StageRows* own = &stage_rows_[next_];
    const StageRows* first_replica = own - replica.index() * stages;
    std::map<DeviceId, std::size_t> last_on;
    for (std::size_t s = 0; s < stages; ++s) {
      add_arc(own[s].forward, own[s].backward, Ticks(0));
      if (s + 1 < stages) {
        add_arc(own[s].forward, own[s + 1].forward,
                pipeline::transfer_between(model, replica, StageId(s), StageId(s + 1)));
        add_arc(own[s + 1].backward, own[s].backward,
                pipeline::transfer_between(model, replica, StageId(s + 1), StageId(s)));
      }
      if (model.split()) add_arc(own[s].backward, own[s].weight_gradient, Ticks(0));
      // Implied by the stages in between, but kept so that a device's own arcs determine the order of its ops.
      const auto [lower, is_first] = last_on.try_emplace(model.replicas[replica.index()][s], s);
      if (!is_first) {
        add_arc(own[lower->second].forward, own[s].forward, Ticks(0));
        add_arc(own[s].backward, own[lower->second].backward, Ticks(0));
        lower->second = s;
      }
      if (model.has_steps()) add_step_arcs(model, replica, s, first_replica);
    }
    next_ += stages;
  }

  /// Adds the rules for the optimizer steps of one stage of one replica. `first_replica` points to the rows of the
  /// model's replica 0.
  void add_step_arcs(const Model& model, ReplicaId replica, std::size_t stage, const StageRows* first_replica) {
    const auto stages = static_cast<std::size_t>(model.stages());
    const auto rows_of = [&](std::size_t r, std::size_t s) { return first_replica[r * stages + s]; };
    const StageRows own = rows_of(replica.index(), stage);
    for (std::size_t r = 0; r < model.replicas.size(); ++r) {
      for (std::size_t s = 0; s < stages; ++s)
        if (model.step_after == StepAfter::model ? !is_implied(model, r, s, own.step) : s == stage)
          add_arc(rows_of(r, s).last(), own.step, Ticks(0), Correspondence::into_step, model.microbatches);
      if (r == replica.index() || model.step_before == StepBefore::replicas)
        add_arc(rows_of(r, stage).step, own.forward, Ticks(0), Correspondence::out_of_step, model.microbatches);
    }
  }

  /// Whether a step that waits for stage 0 also comes after stage s, because the whole backwards of stage s precede
  /// those of stage 0. False on the step's own device, whose own arcs must determine the order of its ops.
  bool is_implied(const Model& model, std::size_t replica, std::size_t stage, std::int32_t step) const {
    const DeviceId device = network_.rows[static_cast<std::size_t>(step)].device;
    return !model.split() && stage > 0 && model.replicas[replica][stage] != device;
  }

  void finish() {
    network_.out.resize(network_.rows.size());
    network_.in.resize(network_.rows.size());
    for (std::size_t arc = 0; arc < network_.arcs.size(); ++arc) {
      network_.out[static_cast<std::size_t>(network_.arcs[arc].from)].push_back(static_cast<std::int32_t>(arc));
      network_.in[static_cast<std::size_t>(network_.arcs[arc].to)].push_back(static_cast<std::int32_t>(arc));
    }
    for (PositionRow& row : network_.rows) {
      row.precedences = network_.precedence_count;
      network_.precedence_count += static_cast<std::size_t>(row.size()) * network_.on[row.device.index()].size();
    }
  }

  void sort_by_length(const std::vector<pipeline::Pipeline>& pipelines) {
    std::vector<std::pair<Ticks, PipelineId>> lengths;
    for (std::size_t index = 0; index < pipelines.size(); ++index) {
      const Model& model = problem_.models[pipelines[index].model.index()];
      Ticks length;
      for (std::size_t s = 0; s < static_cast<std::size_t>(model.stages()); ++s)
        length += model.forward[s] + model.whole_backward(s);
      lengths.emplace_back(Ticks(0) - length, PipelineId(index));
    }
    std::sort(lengths.begin(), lengths.end());
    for (const auto& [length, pipeline] : lengths) network_.by_length.push_back(pipeline);
  }

  const Problem& problem_;
  std::vector<StageBounds> bounds_;
  std::vector<StageRows> stage_rows_;  // rows of all pipelines, stage by stage
  std::size_t next_ = 0;
  PositionNetwork network_;
};

}  // namespace

PositionNetwork position_network(const Problem& problem) { return Builder(problem).run(); }

std::optional<std::int32_t> forward_along(const PositionNetwork& network, const RowArc& arc, std::int32_t position) {
  if (arc.correspondence == Correspondence::same) return position;
  if (arc.correspondence == Correspondence::into_step) {
    if ((position + 1) % arc.minibatch_size != 0) return std::nullopt;
    return position / arc.minibatch_size;
  }
  const std::int32_t first = (position + 1) * arc.minibatch_size;
  if (first >= network.rows[static_cast<std::size_t>(arc.to)].size()) return std::nullopt;
  return first;
}

std::optional<std::int32_t> backward_along(const PositionNetwork&, const RowArc& arc, std::int32_t position) {
  if (arc.correspondence == Correspondence::same) return position;
  if (arc.correspondence == Correspondence::into_step) return (position + 1) * arc.minibatch_size - 1;
  if (position == 0 || position % arc.minibatch_size != 0) return std::nullopt;
  return position / arc.minibatch_size - 1;
}

}  // namespace dovetail::fuse
