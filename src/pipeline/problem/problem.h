// A pipeline problem: the models that train on the same devices, what their stages cost, and where they are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "base/ids.h"
#include "base/quantity.h"
#include "base/result.h"

namespace dovetail::pipeline {

using base::DeviceId;
using base::Memory;
using base::MicrobatchId;
using base::ModelId;
using base::OpId;
using base::PipelineId;
using base::ReplicaId;
using base::StageId;
using base::Ticks;
using base::TimeUnit;

/// Whose gradients an optimizer step waits for.
enum class StepAfter : std::uint8_t {
  stage,  ///< those of its own stage, in every replica
  model   ///< those of all stages and replicas: clipping by the global norm, a tied embedding
};
constexpr auto names_of(StepAfter) {
  return std::array{base::EnumName{"stage", StepAfter::stage}, base::EnumName{"model", StepAfter::model}};
}

/// Whose optimizer steps the forwards of a stage's next mini-batch wait for.
enum class StepBefore : std::uint8_t {
  own,      ///< that of their own replica
  replicas  ///< those of all replicas of the stage: ZeRO gathers the weights that each has stepped a part of
};
constexpr auto names_of(StepBefore) {
  return std::array{base::EnumName{"own", StepBefore::own}, base::EnumName{"replicas", StepBefore::replicas}};
}

/// One model: its replicas, each a pipeline of the same stages on devices of its own.
struct Model {
  std::string name;
  int microbatches = 1;                         ///< per mini-batch and replica
  int minibatches = 1;                          ///< each ends with an optimizer step where has_steps()
  std::vector<std::vector<DeviceId>> replicas;  ///< [replica][stage] -> device
  std::vector<Ticks> forward;                   ///< [stage], at least 1
  std::vector<Ticks> backward;                  ///< [stage], at least 1: all of it, or the input gradient where split()
  std::vector<Ticks> weight_gradient;           ///< [stage], at least 1; empty where the backward is not split
  std::vector<Memory> activation;               ///< [stage], held per micro-batch in flight
  std::vector<Memory> weight_activation;        ///< [stage], what stays held between I and W; empty where not split
  std::vector<Ticks> transfer_forward;   ///< [stage - 1]: delay of activations from stage s to s+1 on another device
  std::vector<Ticks> transfer_backward;  ///< [stage - 1]: delay of gradients from stage s+1 to s on another device
  std::vector<Ticks> step;               ///< [stage], duration of the optimizer step
  StepAfter step_after = StepAfter::stage;
  StepBefore step_before = StepBefore::own;

  int stages() const { return static_cast<int>(forward.size()); }
  bool split() const { return !weight_gradient.empty(); }
  /// Whether the model has S ops: with several mini-batches, or a step that takes time.
  bool has_steps() const;
  int total_microbatches() const { return microbatches * minibatches; }
  /// Time of the whole backward of a stage: backward plus weight gradient.
  Ticks whole_backward(std::size_t stage) const;

  friend bool operator==(const Model&, const Model&) = default;
};

/// Everything that a schedule has to obey.
struct Problem {
  TimeUnit time_unit = TimeUnit::tick;
  int devices = 0;
  std::vector<Memory> resident;                 ///< [device], 0 where the file says nothing
  std::optional<std::vector<Memory>> capacity;  ///< [device]
  std::vector<Model> models;

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// The devices of those numbers, for Model::replicas.
std::vector<DeviceId> device_list(const std::vector<int>& numbers);

/// `problem` with what it leaves out, as a file may, for problems that are built by a program. With the stages of the
/// first replica: a list per stage (or per boundary) with one value has that value for each; an empty one of
/// activation, transfer, step or resident is 0 for each; an empty weight_activation is all of the activation where the
/// backward is split. Other lists stay as they are, the wrong ones for find_fault to see.
Problem with_defaults(Problem problem);

/// Limits of what a file may ask for; a larger one is refused with a message.
inline constexpr int max_device_count = 65'536;
inline constexpr std::int64_t max_op_count = 1 << 20;
inline constexpr std::int64_t max_step_dependency_count = 1 << 25;

/// What all times of a problem, or all activations on one of its devices, may add up to: any sum that is formed later
/// stays below 2^63.
inline constexpr std::int64_t max_sum = 4'000'000'000'000'000'000;

/// A limit of what a problem may ask for.
enum class Limit { ops, step_dependencies, time, activation };

/// What a problem asks for, as far as its models were added.
struct ProblemTotals {
  std::int64_t ops = 0;
  std::int64_t step_dependencies = 0;    ///< what steps wait for, and where StepBefore is replicas what waits for them
  std::int64_t time = 0;                 ///< durations and transfers of all ops
  std::vector<std::int64_t> activation;  ///< [device] of all micro-batches at once
};

/// Adds a model whose values are in range; the first limit that the totals then exceed, if any. REQUIRES: none was
/// exceeded before.
std::optional<Limit> add_to_totals(ProblemTotals& totals, const Model& model);

/// How many ops the problem has, with every backward whole (a split one has one more for each).
std::int64_t count_ops(const Problem& problem);

/// One replica of one model.
struct Pipeline {
  ModelId model;
  ReplicaId replica;
};
/// All pipelines in file order: model by model, replica by replica. PipelineId indexes it.
std::vector<Pipeline> pipelines_of(const Problem& problem);

/// "actor", or "actor/1" for a replica of a model that has several.
std::string pipeline_name(const Problem& problem, Pipeline pipeline);

/// Whether the stages of a replica are all on devices of their own.
bool on_distinct_devices(std::vector<DeviceId> replica);

/// The delay between stages `from` and `to` (neighbours) of a replica: 0 where both are on one device.
Ticks transfer_between(const Model& model, ReplicaId replica, StageId from, StageId to);

/// What makes the values of `problem` no valid problem (sizes, ranges, limits), as a message; nothing if it is sound.
/// For problems that were built by a program: readers say the same with a place in the file.
std::optional<std::string> find_fault(const Problem& problem);

}  // namespace dovetail::pipeline
