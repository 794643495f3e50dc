// A pipeline problem: models that train on the same devices, with the costs and devices of their stages.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
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

/// Gradients that an optimizer step waits for.
enum class StepAfter : std::uint8_t {
  stage,  ///< gradients on the same stage in every replica
  model   ///< gradients of all stages and replicas: clipping by the global norm, a tied embedding
};
constexpr auto names_of(StepAfter) {
  return std::array{base::EnumName{"stage", StepAfter::stage}, base::EnumName{"model", StepAfter::model}};
}

/// Optimizer steps that the forwards of the next mini-batch on a stage wait for.
enum class StepBefore : std::uint8_t {
  own,  ///< the step in the same replica

  /// The steps of all replicas of the stage: with ZeRO, each replica updates a share of the weights, and the shares are
  /// then gathered.
  replicas
};
constexpr auto names_of(StepBefore) {
  return std::array{base::EnumName{"own", StepBefore::own}, base::EnumName{"replicas", StepBefore::replicas}};
}

/// One model and its replicas. Each replica is a pipeline with the same stages and costs, on its own list of devices.
struct Model {
  std::string name;
  int microbatches = 1;  ///< number of micro-batches per mini-batch and replica
  int minibatches = 1;   ///< number of mini-batches; each ends with an optimizer step if has_steps()
  std::vector<std::vector<DeviceId>> replicas;  ///< [replica][stage] device of the stage
  std::vector<Ticks> forward;                   ///< [stage] duration of a forward, at least 1

  /// [stage] duration of the whole backward, or of the input gradient if split(); at least 1
  std::vector<Ticks> backward;
  /// [stage] duration of the weight gradient, at least 1; empty if the backward is not split
  std::vector<Ticks> weight_gradient;
  std::vector<Memory> activation;         ///< [stage] activation held per micro-batch in flight
  std::vector<Memory> weight_activation;  ///< [stage] part of the activation held between I and W; empty if not split
  std::vector<Ticks> transfer_forward;    ///< [s] delay of activations from stage s to s+1 on another device
  std::vector<Ticks> transfer_backward;   ///< [s] delay of gradients from stage s+1 to s on another device
  std::vector<Ticks> step;                ///< [stage] duration of the optimizer step
  StepAfter step_after = StepAfter::stage;
  StepBefore step_before = StepBefore::own;

  int stages() const { return static_cast<int>(forward.size()); }
  bool split() const { return !weight_gradient.empty(); }
  /// Whether the model has S ops: it has several mini-batches, or a step that takes time.
  bool has_steps() const;
  int total_microbatches() const { return microbatches * minibatches; }
  /// Returns the duration of the whole backward of a stage: backward plus weight gradient.
  Ticks whole_backward(std::size_t stage) const;

  friend bool operator==(const Model&, const Model&) = default;
};

/// A scheduling problem: the models, and the devices and memory that they share.
struct Problem {
  TimeUnit time_unit = TimeUnit::tick;
  int devices = 0;
  std::vector<Memory> resident;  ///< [device] memory in use besides activations; 0 if the file gives none
  std::optional<std::vector<Memory>> capacity;  ///< [device] maximum memory; nullopt: no limit
  std::vector<Model> models;

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// Converts device numbers to ids, for Model::replicas.
std::vector<DeviceId> device_list(const std::vector<int>& numbers);

/// Fills in values that a file may leave out, for problems built in code. The first replica of a model defines its
/// number of stages. If a list by stage, or by boundary between stages, has one value, the value is repeated. An empty
/// list of activation, transfer, step or resident becomes zeros. An empty weight_activation becomes the activation if
/// the backward is split. Lists of any other size are kept for find_fault to report.
Problem with_defaults(Problem problem);

/// Limits of a problem. Files that exceed them are rejected with a message.
inline constexpr int max_device_count = 65'536;
inline constexpr std::int64_t max_op_count = 1 << 20;
inline constexpr std::int64_t max_step_dependency_count = 1 << 25;

/// Maximum sum of all times of a problem, or of all activations on one device. It keeps every sum formed later below
/// 2^63.
inline constexpr std::int64_t max_sum = 4'000'000'000'000'000'000;

/// Limit that add_to_totals checks: max_op_count for `ops`, max_step_dependency_count for `step_dependencies`, and
/// max_sum for `time` and `activation`.
enum class Limit { ops, step_dependencies, time, activation };

/// Totals over the models added so far.
struct ProblemTotals {
  std::int64_t ops = 0;
  /// Number of edges from backwards to steps and, with StepBefore::replicas, from steps to forwards.
  std::int64_t step_dependencies = 0;
  std::int64_t time = 0;                 ///< sum of durations and transfers of all ops
  std::vector<std::int64_t> activation;  ///< [device] sum over all micro-batches
};

/// Adds a model whose values are in range. Returns the first limit that the totals then exceed, or nullopt. REQUIRES:
/// no limit was exceeded before.
std::optional<Limit> add_to_totals(ProblemTotals& totals, const Model& model);

/// Returns the number of ops, counting each backward as one op even if the model splits it.
std::int64_t count_ops(const Problem& problem);

/// One replica of one model.
struct Pipeline {
  ModelId model;
  ReplicaId replica;
};
/// Returns all pipelines in file order: model by model, replica by replica. PipelineId is an index into this list.
std::vector<Pipeline> pipelines_of(const Problem& problem);

/// Returns the name of the model, such as "actor". Appends the replica if the model has several: "actor/1".
std::string pipeline_name(const Problem& problem, Pipeline pipeline);

/// Whether all stages of a replica are on different devices.
bool on_distinct_devices(std::vector<DeviceId> replica);

/// Returns the delay between the neighboring stages `from` and `to` of a replica; 0 if both are on one device.
Ticks transfer_between(const Model& model, ReplicaId replica, StageId from, StageId to);

/// Explains why `problem` is invalid (sizes, ranges, limits); nullopt if it is valid. Used for problems that are built
/// in code or inferred from other files; parse_problem reports the same faults with a position.
std::optional<std::string> find_fault(const Problem& problem);

}  // namespace dovetail::pipeline
