#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "pipeline/formats/flexfusion_trace_cells.h"
#include "pipeline/formats/schedule_file.h"

namespace dovetail::pipeline {
namespace {

using base::Error;
using base::Failure;
using base::FilePlace;
using base::Result;
using base::Status;

/// Facts from the cells about one stage of one pipeline, forward and backward together.
struct InferredStage {
  std::optional<DeviceId> device;
  std::optional<Ticks> forward;
  std::optional<Ticks> backward;
  Memory min_activation = Memory::max();
  Memory max_activation;
};

/// Number of cells that mention a number (a stage, a micro-batch), and the first of them.
struct Mention {
  std::int64_t count = 0;
  FilePlace first;
};

struct InferredPipeline {
  std::map<int, Mention> stage_mentions;
  std::map<int, Mention> microbatch_mentions;
  int max_stage = -1;
  int max_microbatch = -1;
  std::vector<InferredStage> stages;
};

/// Maximum error, in millionths, of the difference of two sums of rounded floats.
constexpr std::int64_t float_drift = 2;

/// Returns the decimal with the fewest digits near [least, most], which is the value that the drifted floats represent.
Memory min_near(Memory least, Memory most) {
  const std::int64_t lower = std::max<std::int64_t>(least.count() - float_drift, 0);
  for (std::int64_t step = 1'000'000; step > 1; step /= 10) {
    const std::int64_t candidate = (lower + step - 1) / step * step;
    if (candidate <= most.count() + float_drift) return Memory(candidate);
  }
  return least;
}

/// Infers the problem of the schedule in a trace.
class ProblemInference {
 public:
  ProblemInference(const Trace& trace, const std::string& path) : trace_(trace), path_(path) {}

  Result<Problem> run() && {
    DOVETAIL_CHECK(find_duplicate());
    DOVETAIL_CHECK(find_sizes());
    find_durations();
    for (std::size_t device = 0; device < trace_.devices.size(); ++device) {
      Memory held;
      for (const std::size_t row : rows_by_start(trace_.devices[device])) {
        const TraceCell& cell = trace_.devices[device][row];
        DOVETAIL_CHECK(add_cell(cell, DeviceId(device), cell.held - held));
        held = cell.held;
      }
    }
    return make_problem();
  }

 private:
  Error error(FilePlace place, std::string message) const {
    return {Failure::bad_input, path_, place.line, place.column,
            std::move(message) + "; specify the problem with --problem"};
  }

  /// Reports a repeated op first, because it would falsify everything that is inferred.
  Status find_duplicate() const {
    std::map<std::tuple<int, int, int>, FilePlace> seen;
    for (const auto& device : trace_.devices)
      for (const TraceCell& cell : device) {
        const auto [first, is_new] = seen.try_emplace({cell.pipeline, cell.microbatch, cell.stage}, cell.place);
        if (is_new) continue;
        return Error{Failure::invalid, path_, cell.place.line, cell.place.column,
                     fmt::format("duplicate op: model {}, micro-batch {}, stage {} is already on line {}, column {}",
                                 cell.pipeline, cell.microbatch, cell.stage, first->second.line, first->second.column)};
      }
    return {};
  }

  static void add_mention(std::map<int, Mention>& mentions, int number, FilePlace place) {
    Mention& mention = mentions.try_emplace(number, Mention{0, place}).first->second;
    ++mention.count;
  }

  Status find_sizes() {
    std::int64_t cells = 0;
    for (const auto& device : trace_.devices) cells += static_cast<std::int64_t>(device.size());
    std::map<int, Mention> pipeline_mentions;
    for (const auto& device : trace_.devices)
      for (const TraceCell& cell : device) {
        if (cell.pipeline >= cells)
          return error(cell.pipeline_place,
                       fmt::format("there is a model {}, but the trace has only {} ops, and models count from 0",
                                   cell.pipeline, cells));
        if (static_cast<std::size_t>(cell.pipeline) >= pipelines_.size())
          pipelines_.resize(static_cast<std::size_t>(cell.pipeline) + 1);
        add_mention(pipeline_mentions, cell.pipeline, cell.pipeline_place);
        InferredPipeline& pipeline = pipelines_[static_cast<std::size_t>(cell.pipeline)];
        add_mention(pipeline.stage_mentions, cell.stage, cell.stage_place);
        add_mention(pipeline.microbatch_mentions, cell.microbatch, cell.microbatch_place);
      }
    if (const auto fault = find_gap(pipeline_mentions, "there is a model {} but no model {}")) return *fault;
    for (std::size_t index = 0; index < pipelines_.size(); ++index) DOVETAIL_CHECK(check_sizes(index));
    return {};
  }

  /// Finds the first number that does not follow its predecessor. `message` formats both numbers.
  std::optional<Error> find_gap(const std::map<int, Mention>& mentions, fmt::string_view message) const {
    int expected = 0;
    for (const auto& [number, mention] : mentions) {
      if (number != expected) return error(mention.first, fmt::format(fmt::runtime(message), number, expected));
      ++expected;
    }
    return std::nullopt;
  }

  /// Reports the largest number if it appears less than half as often as the most common one. The number is then more
  /// likely wrong than its other ops are missing.
  std::optional<Error> find_stray(const std::map<int, Mention>& mentions, std::string_view what,
                                  std::size_t index) const {
    const auto& [number, mention] = *mentions.rbegin();
    std::int64_t most = 0;
    for (const auto& [other, of_other] : mentions) most = std::max(most, of_other.count);
    if (2 * mention.count >= most) return std::nullopt;
    return error(
        mention.first,
        fmt::format("{} {} of model {} has fewer ops ({}) than others (up to {}), so the problem cannot be inferred",
                    what, number, index, mention.count, most));
  }

  Status check_sizes(std::size_t index) {
    InferredPipeline& pipeline = pipelines_[index];
    const std::string of_model = fmt::format("model {} has ops of ", index);
    if (const auto fault =
            find_gap(pipeline.microbatch_mentions, of_model + "micro-batch {} but none of micro-batch {}"))
      return *fault;
    if (const auto fault = find_gap(pipeline.stage_mentions, of_model + "stage {} but none of stage {}")) return *fault;
    if (const auto fault = find_stray(pipeline.microbatch_mentions, "micro-batch", index)) return *fault;
    if (const auto fault = find_stray(pipeline.stage_mentions, "stage", index)) return *fault;
    pipeline.max_microbatch = pipeline.microbatch_mentions.rbegin()->first;
    pipeline.max_stage = pipeline.stage_mentions.rbegin()->first;
    if (pipeline.max_stage % 2 == 0)
      return error(pipeline.stage_mentions.rbegin()->second.first,
                   fmt::format("model {} has {} stages; the number must be even, because backwards count as stages too",
                               index, pipeline.max_stage + 1));
    pipeline.stages.resize((static_cast<std::size_t>(pipeline.max_stage) + 1) / 2);
    return {};
  }

  bool is_forward(const TraceCell& cell) const {
    return cell.stage < static_cast<int>(pipelines_[static_cast<std::size_t>(cell.pipeline)].stages.size());
  }

  InferredStage& stage_of(const TraceCell& cell) {
    InferredPipeline& pipeline = pipelines_[static_cast<std::size_t>(cell.pipeline)];
    return pipeline.stages[static_cast<std::size_t>(is_forward(cell) ? cell.stage : pipeline.max_stage - cell.stage)];
  }

  /// Sets the duration of each stage, forward and backward, to the most common one. Ties go to the first in the file.
  void find_durations() {
    std::map<std::tuple<int, int, Ticks>, std::int64_t> counts;
    const auto count_of = [&](const TraceCell& cell, Ticks duration) -> std::int64_t& {
      return counts[{cell.pipeline, cell.stage, duration}];
    };
    for (const auto& device : trace_.devices)
      for (const TraceCell& cell : device) ++count_of(cell, cell.end - cell.start);
    for (const auto& device : trace_.devices)
      for (const TraceCell& cell : device) {
        std::optional<Ticks>& duration = is_forward(cell) ? stage_of(cell).forward : stage_of(cell).backward;
        if (!duration || count_of(cell, cell.end - cell.start) > count_of(cell, *duration))
          duration = cell.end - cell.start;
      }
  }

  Status add_cell(const TraceCell& cell, DeviceId device, Memory change) {
    const bool forward = is_forward(cell);
    InferredStage& stage = stage_of(cell);
    if (!stage.device) stage.device = device;
    const Ticks duration = forward ? *stage.forward : *stage.backward;
    if (duration != cell.end - cell.start)
      return error(
          cell.place,
          fmt::format("this op lasts {}, but others of model {} stage {} last {}: the durations cannot be inferred",
                      (cell.end - cell.start).count(), cell.pipeline, cell.stage, duration.count()));
    if (std::abs(change.count()) > base::max_memory)
      return error(cell.place, fmt::format("this op changes the activation by {}, which is more than a single op can: "
                                           "the activation cannot be inferred",
                                           base::format_memory(change)));
    const Memory activation = forward ? change : Memory(-change.count());
    stage.min_activation = std::min(stage.min_activation, activation);
    stage.max_activation = std::max(stage.max_activation, activation);
    if (stage.max_activation - stage.min_activation <= trace_activation_tolerance) return {};
    const int last = pipelines_[static_cast<std::size_t>(cell.pipeline)].max_stage;
    const int forward_stage = std::min(cell.stage, last - cell.stage);
    return error(
        cell.place,
        fmt::format("forwards of stage {} and backwards of stage {} of model {} change the activation by {} to "
                    "{}; accepted: the same change by all of them, so that the activation can be inferred",
                    forward_stage, last - forward_stage, cell.pipeline, base::format_memory(stage.min_activation),
                    base::format_memory(stage.max_activation)));
  }

  Result<Problem> make_problem() const {
    Problem problem;
    problem.devices = static_cast<int>(trace_.devices.size());
    problem.resident.resize(trace_.devices.size());
    const bool drifted = activations_drift();
    for (std::size_t index = 0; index < pipelines_.size(); ++index) {
      Model model = make_model(index, problem.models.size(), drifted);
      if (!problem.models.empty() && is_replica(model, problem.models.back()))
        problem.models.back().replicas.push_back(model.replicas.front());
      else
        problem.models.push_back(std::move(model));
    }
    if (const auto fault = find_fault(problem)) return error({1, 1}, "no problem can be inferred: " + *fault);
    return problem;
  }

  /// Whether the activations are sums of floats. The values of a trace with exact decimals are taken as they are.
  bool activations_drift() const {
    for (const InferredPipeline& pipeline : pipelines_)
      for (const InferredStage& stage : pipeline.stages)
        if (stage.min_activation != stage.max_activation) return true;
    return false;
  }

  Model make_model(std::size_t index, std::size_t number, bool drifted) const {
    const InferredPipeline& pipeline = pipelines_[index];
    const std::size_t stages = pipeline.stages.size();
    Model model;
    model.name = fmt::format("model{}", number);
    model.microbatches = pipeline.max_microbatch + 1;
    model.replicas.emplace_back();
    for (std::size_t s = 0; s < stages; ++s) {
      const InferredStage& stage = pipeline.stages[s];
      model.replicas.front().push_back(*stage.device);
      model.forward.push_back(*stage.forward);
      model.backward.push_back(*stage.backward);
      model.activation.push_back(drifted ? min_near(stage.min_activation, stage.max_activation) : stage.min_activation);
    }
    model.transfer_forward.resize(stages - 1);
    model.transfer_backward.resize(stages - 1);
    model.step.resize(stages);
    return model;
  }

  static bool is_replica(Model model, const Model& of) {
    model.name = of.name;
    model.replicas = of.replicas;
    return model == of;
  }

  const Trace& trace_;
  const std::string& path_;
  std::vector<InferredPipeline> pipelines_;
};

}  // namespace

Result<Problem> infer_problem(const Trace& trace, const std::string& path) {
  return ProblemInference(trace, path).run();
}

}  // namespace dovetail::pipeline
