#include "fuse/pattern/pattern.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "fuse/constructions/building_blocks.h"

namespace dovetail::fuse {
namespace {

using base::MicrobatchId;
using base::PipelineId;
using base::StageId;
using pipeline::Lowering;
using pipeline::OpId;
using pipeline::OpKind;

/// Writes the order of one device for one mini-batch.
class DeviceWriter {
 public:
  DeviceWriter(const PatternFound& found, const Lowering& lowering, std::int64_t minibatch, std::vector<OpId>& order)
      : found_(found), lowering_(lowering), minibatch_(minibatch), order_(order) {}

  void write(std::size_t device) {
    const std::vector<std::int32_t>& classes = found_.graph.on_device[device];
    next_.assign(classes.size(), 0);
    for (const std::int32_t id : found_.schedule.warm_up[device]) append(position_of(classes, id), id);
    write_middle(classes);
    for (const std::int32_t id : found_.schedule.drain[device]) append(position_of(classes, id), id);
  }

 private:
  static std::size_t position_of(const std::vector<std::int32_t>& classes, std::int32_t id) {
    return static_cast<std::size_t>(std::lower_bound(classes.begin(), classes.end(), id) - classes.begin());
  }

  void append(std::size_t position, std::int32_t id) {
    const PatternClass& op_class = found_.graph.classes[static_cast<std::size_t>(id)];
    const std::int64_t before =
        minibatch_ * found_.graph.pipelines[static_cast<std::size_t>(op_class.pipeline)].microbatches;
    const MicrobatchId microbatch(static_cast<std::int32_t>(before + next_[position]++));
    const pipeline::Pipeline& pipeline = lowering_.pipelines[static_cast<std::size_t>(op_class.pipeline)];
    order_.push_back(
        lowering_.find({op_class.kind, pipeline.model, pipeline.replica, StageId(op_class.stage), microbatch}));
  }

  /// Writes the timetable's order: among the classes with micro-batches left, the one that starts next.
  void write_middle(const std::vector<std::int32_t>& classes) {
    const CompactSchedule& schedule = found_.schedule;
    for (;;) {
      std::size_t best = classes.size();
      std::int64_t best_time = 0;
      for (std::size_t position = 0; position < classes.size(); ++position) {
        const auto index = static_cast<std::size_t>(classes[position]);
        const auto pipeline = static_cast<std::size_t>(found_.graph.classes[index].pipeline);
        if (next_[position] >= found_.graph.pipelines[pipeline].microbatches - schedule.drain_count[index]) continue;
        const std::int64_t time = schedule.timetable.at(index, next_[position] - schedule.ahead[pipeline]);
        if (best < classes.size() && time >= best_time) continue;
        best = position;
        best_time = time;
      }
      if (best == classes.size()) return;
      append(best, classes[best]);
    }
  }

  const PatternFound& found_;
  const Lowering& lowering_;
  std::int64_t minibatch_;
  std::vector<OpId>& order_;
  std::vector<std::int64_t> next_;  // [class of the device] its next micro-batch
};

/// Appends the optimizer steps of a mini-batch after its other ops.
void append_steps(pipeline::Order& order, const Lowering& lowering, int minibatch) {
  for (const auto& steps : lowering.steps) {
    if (steps.empty()) continue;
    const OpId step = steps[static_cast<std::size_t>(minibatch)];
    order.devices[lowering.graph.device[step.index()].index()].push_back(step);
  }
}

}  // namespace

pipeline::Order expand_pattern(const PatternFound& found, const pipeline::Problem& problem, const Lowering& lowering) {
  pipeline::Order order;
  order.devices.resize(static_cast<std::size_t>(problem.devices));
  for (int minibatch = 0; minibatch < problem.models[0].minibatches; ++minibatch) {
    for (std::size_t device = 0; device < order.devices.size(); ++device)
      DeviceWriter(found, lowering, minibatch, order.devices[device]).write(device);
    append_steps(order, lowering, minibatch);
  }
  return order;
}

namespace {

/// Returns a pattern of `problem` for the given options.
Answer answer_of(const pipeline::Problem& problem, const SolveOptions& options) {
  auto found = search_pattern(problem, options);
  if (auto* why = std::get_if<std::string>(&found)) return NotApplicable{std::move(*why)};
  pipeline::Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  pipeline::Order order = expand_pattern(std::get<PatternFound>(found), problem, lowering);
  return construction_answer("pattern", problem, std::move(lowering), std::move(order));
}

/// Returns the pattern found without a capacity, if it fits within the capacity. A capacity that this pattern meets
/// must not make the result worse.
std::optional<Solution> fitting_without_capacity(const pipeline::Problem& problem, SolveOptions options) {
  const std::optional<base::Memory> cap = std::exchange(options.memory_cap, std::nullopt);
  pipeline::Problem unlimited = problem;
  unlimited.capacity.reset();
  Answer answer = answer_of(unlimited, options);
  auto* solution = std::get_if<Solution>(&answer);
  if (!solution || !pipeline::find_excess(problem, solution->evaluation, cap).empty()) return std::nullopt;
  solution->problem = problem;
  return std::move(*solution);
}

SolveOptions without_cap(SolveOptions options) {
  options.memory_cap.reset();
  return options;
}

/// Returns `problem` with smaller capacities: `permille` thousandths of the free memory that its capacity and `cap`
/// leave.
pipeline::Problem with_share_of_headroom(const pipeline::Problem& problem, std::optional<base::Memory> cap,
                                         std::int64_t permille) {
  const std::vector<base::Memory> headroom = pipeline::headroom_of(problem, cap);
  pipeline::Problem part = problem;
  part.capacity.emplace();
  for (std::size_t device = 0; device < headroom.size(); ++device) {
    // A device without a limit, or without free memory, is left unchanged.
    const bool limited = headroom[device] > base::Memory(0) && headroom[device] < base::Memory::max();
    const base::Memory here = limited ? base::Memory(headroom[device].count() / 1000 * permille) : headroom[device];
    part.capacity->push_back(here == base::Memory::max() ? here : here + problem.resident[device]);
  }
  return part;
}

}  // namespace

Answer solve_pattern(const pipeline::Problem& problem, const SolveOptions& options) {
  if (!problem.capacity && !options.memory_cap) return answer_of(problem, options);
  SolveOptions each = options;
  if (each.time_limit_seconds) *each.time_limit_seconds /= 2;
  Answer answer = answer_of(problem, each);
  auto free = fitting_without_capacity(problem, each);
  const auto* const limited = std::get_if<Solution>(&answer);
  if (free && (!limited || is_better(*free, *limited, options))) return std::move(*free);
  return answer;
}

std::vector<Solution> solve_patterns_within(const pipeline::Problem& problem, const SolveOptions& options) {
  std::vector<Solution> solutions;
  for (const int permille : {1000, 995, 990, 980, 970, 950, 930}) {
    Answer answer = answer_of(with_share_of_headroom(problem, options.memory_cap, permille), without_cap(options));
    auto* solution = std::get_if<Solution>(&answer);
    if (!solution) continue;
    solution->problem = problem;
    solutions.push_back(std::move(*solution));
  }
  return solutions;
}

}  // namespace dovetail::fuse
