#include "fuse/annealing/annealing_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/assert.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Lowering;
using pipeline::MicrobatchId;
using pipeline::Model;
using pipeline::OpId;
using pipeline::OpKind;
using pipeline::PipelineId;
using pipeline::Problem;
using pipeline::StageId;

constexpr std::size_t max_stages_on_a_device = 1 << 15;
constexpr double max_activation = 4e18;

bool any_positive(const std::vector<Ticks>& times) {
  return std::any_of(times.begin(), times.end(), [](Ticks time) { return time > Ticks(0); });
}

bool all_alike(const std::vector<std::uint16_t>& sequence) {
  return std::adjacent_find(sequence.begin(), sequence.end(), std::not_equal_to<>()) == sequence.end();
}

std::optional<std::string> why_not_annealed(const Model& model) {
  constexpr std::array known{OpKind::F, OpKind::B};
  if (auto other = pipeline::find_other_ops(model, known)) return other;
  if (any_positive(model.transfer_forward) || any_positive(model.transfer_backward))
    return fmt::format("model {} has transfer delays", model.name);
  for (const auto& replica : model.replicas)
    if (!pipeline::on_distinct_devices(replica))
      return fmt::format("model {} has several stages on a device", model.name);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_not_annealed(const Problem& problem) {
  std::vector<std::size_t> stages(static_cast<std::size_t>(problem.devices));
  double activation = 0;  // of all devices together, because metrics include the sum of their peaks
  for (const Model& model : problem.models) {
    if (auto why = why_not_annealed(model)) return why;
    for (const auto& replica : model.replicas)
      for (std::size_t stage = 0; stage < replica.size(); ++stage) {
        activation += static_cast<double>(model.activation[stage].count()) * model.total_microbatches();
        if (++stages[replica[stage].index()] > max_stages_on_a_device) return "a device has more than 32768 stages";
      }
  }
  if (activation > max_activation) return "the sum of the activations overflows; use a larger unit";
  return std::nullopt;
}

AnnealingState::AnnealingState(const Problem& problem, const Lowering& lowering, const pipeline::Order& order)
    : tasks_(order.devices.size()), sequences_(order.devices.size()), peaks_(order.devices.size()) {
  add_tasks(problem, lowering);
  position_.resize(sequences_.size());
  idle_.resize(sequences_.size());
  add_sequences(lowering, order);
  const bool valid = evaluate(metric_);
  DOVETAIL_ASSERT(valid);
}

// For each pipeline: forward of stages 0, 1, ..., then backward of the last stage, ..., 0. Each task follows the
// previous one. A source that is always done precedes the first.
void AnnealingState::add_tasks(const Problem& problem, const Lowering& lowering) {
  for (std::size_t p = 0; p < lowering.pipelines.size(); ++p) {
    const auto [model_id, replica] = lowering.pipelines[p];
    const Model& model = problem.models[model_id.index()];
    const std::int32_t microbatches = model.total_microbatches();
    const auto add_row = [&](std::int32_t done) {
      done_at_start_.push_back(done);
      ends_.resize(ends_.size() + static_cast<std::size_t>(microbatches));
    };
    const auto add_task = [&](std::vector<Task>& tasks, std::int64_t duration, std::int64_t memory, StageId stage) {
      const auto row = static_cast<std::int32_t>(done_at_start_.size());
      const auto ends = static_cast<std::int32_t>(ends_.size());
      tasks.push_back({duration, ends, ends - microbatches, row, row - 1, memory, PipelineId(p), stage});
      add_row(0);
    };
    add_row(microbatches);
    const auto& devices = model.replicas[replica.index()];
    for (std::size_t s = 0; s < devices.size(); ++s)
      add_task(tasks_[devices[s].index()], model.forward[s].count(), model.activation[s].count(), StageId(s));
    for (std::size_t s = devices.size(); s-- > 0;)
      add_task(tasks_[devices[s].index()], model.backward[s].count(), -model.activation[s].count(), StageId(s));
  }
}

void AnnealingState::add_sequences(const Lowering& lowering, const pipeline::Order& order) {
  for (std::size_t device = 0; device < sequences_.size(); ++device) {
    const std::vector<Task>& tasks = tasks_[device];
    for (const OpId op : order.devices[device]) {
      const pipeline::OpLabel& label = lowering.graph.labels[op.index()];
      const PipelineId pipeline = lowering.pipeline_of(label);
      // Tasks are sorted by pipeline; the two of a pipeline are adjacent.
      const auto forward = std::lower_bound(tasks.begin(), tasks.end(), pipeline,
                                            [](const Task& task, PipelineId wanted) { return task.pipeline < wanted; });
      const auto code = forward - tasks.begin() + (label.kind == OpKind::F ? 0 : 1);
      sequences_[device].push_back(static_cast<Code>(code));
    }
    task_count_ += sequences_[device].size();
    if (!all_alike(sequences_[device])) movable_.push_back(device);
    peaks_[device] = peak_of(device);
  }
}

AnnealingState::Change AnnealingState::draw(base::Random& random, AnnealingMove move) const {
  const std::size_t device = movable_[random.below(static_cast<std::uint32_t>(movable_.size()))];
  const std::vector<Code>& sequence = sequences_[device];
  const auto size = static_cast<std::uint32_t>(sequence.size());
  Change change{device, 0, 0, move};
  if (move == AnnealingMove::move) {
    change.first = random.below(size);
    change.second = random.below(size);
    return change;
  }
  do {
    change.first = random.below(size - 1);
    change.second = change.first + 1;
  } while (sequence[change.first] == sequence[change.second]);
  return change;
}

void AnnealingState::apply(const Change& change) {
  std::vector<Code>& sequence = sequences_[change.device];
  const auto at = [&](std::size_t index) { return sequence.begin() + static_cast<std::ptrdiff_t>(index); };
  if (change.move != AnnealingMove::move) {
    std::swap(sequence[change.first], sequence[change.second]);
  } else if (change.first < change.second) {
    std::rotate(at(change.first), at(change.first + 1), at(change.second + 1));
  } else {
    std::rotate(at(change.second), at(change.first), at(change.first + 1));
  }
}

void AnnealingState::revert(const Change& change) {
  Change inverse = change;
  std::swap(inverse.first, inverse.second);
  apply(inverse);
}

bool AnnealingState::disturb(base::Random& random, AnnealingMove move) {
  if (movable_.empty()) return false;
  change_ = draw(random, move);
  apply(change_);
  metric_before_ = metric_;
  peak_before_ = peaks_[change_.device];
  peaks_[change_.device] = peak_of(change_.device);
  AnnealingMetric metric;
  if (evaluate(metric)) {
    metric_ = metric;
    return true;
  }
  undo();
  return false;
}

void AnnealingState::undo() {
  revert(change_);
  peaks_[change_.device] = peak_before_;
  metric_ = metric_before_;
}

std::int64_t AnnealingState::peak_of(std::size_t device) const {
  std::int64_t held = 0;
  std::int64_t peak = 0;
  for (const Code code : sequences_[device]) {
    held += tasks_[device][code].memory;
    peak = std::max(peak, held);
  }
  return peak;
}

std::size_t AnnealingState::advance(std::size_t device, AnnealingMetric& metric) {
  const std::vector<Code>& sequence = sequences_[device];
  const Task* tasks = tasks_[device].data();
  std::size_t position = position_[device];
  std::int64_t idle = idle_[device];
  const std::size_t begin = position;
  for (; position < sequence.size(); ++position) {
    const Task& next = tasks[sequence[position]];
    std::int32_t& done = done_[static_cast<std::size_t>(next.done)];
    if (done >= done_[static_cast<std::size_t>(next.previous_done)]) break;
    idle = std::max(idle, ends_[static_cast<std::size_t>(next.previous_ends + done)]) + next.duration;
    ends_[static_cast<std::size_t>(next.ends + done)] = idle;
    ++done;
    metric.finish_sum += static_cast<std::uint64_t>(idle);
  }
  position_[device] = position;
  idle_[device] = idle;
  return position - begin;
}

bool AnnealingState::evaluate(AnnealingMetric& metric) {
  metric = {};
  done_ = done_at_start_;
  std::fill(position_.begin(), position_.end(), 0);
  std::fill(idle_.begin(), idle_.end(), 0);
  std::size_t evaluated = 0;
  for (std::size_t progress = 1; progress > 0 && evaluated < task_count_; evaluated += progress) {
    progress = 0;
    // Sweep up and down, because pipelines run in both directions: most tasks finish in a few sweeps.
    for (std::size_t device = 0; device < sequences_.size(); ++device) progress += advance(device, metric);
    for (std::size_t device = sequences_.size(); device-- > 0;) progress += advance(device, metric);
  }
  if (evaluated < task_count_) return false;
  metric.makespan = Ticks(*std::max_element(idle_.begin(), idle_.end()));
  for (const std::int64_t peak : peaks_) {
    metric.peak = std::max(metric.peak, Memory(peak));
    metric.peak_sum += Memory(peak);
  }
  return true;
}

pipeline::Order AnnealingState::order(const Lowering& lowering) const {
  pipeline::Order order;
  for (std::size_t device = 0; device < sequences_.size(); ++device) {
    std::vector<OpId>& sequence = order.devices.emplace_back();
    std::vector<std::int32_t> count(tasks_[device].size());
    for (const Code code : sequences_[device]) {
      const Task& task = tasks_[device][code];
      const auto& ops = lowering.ops(task.pipeline, task.stage, MicrobatchId(count[code]++));
      sequence.push_back(code % 2 == 0 ? ops.forward : ops.backward);
    }
  }
  return order;
}

}  // namespace dovetail::fuse
