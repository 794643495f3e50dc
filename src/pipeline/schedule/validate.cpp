#include "pipeline/schedule/validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

namespace dovetail::pipeline {
namespace {

/// Position of an op in the schedule; `row` is -1 if the op is absent.
struct Position {
  std::int32_t device = -1;
  std::int32_t row = -1;

  bool present() const { return row >= 0; }
};

/// Rows of one micro-batch (or mini-batch, for S) on one stage of one replica, by kind.
using Positions = std::array<Position, op_kinds>;

class Validator {
 public:
  Validator(const Schedule& schedule, Tolerance tolerance)
      : schedule_(schedule), problem_(schedule.problem), tolerance_(tolerance) {
    for (const Model& model : problem_.models) {
      model_begin_.push_back(positions_count_);
      positions_count_ += model.replicas.size() * slots_per_replica(model);
    }
    positions_.resize(positions_count_);
  }

  std::optional<Violation> run() {
    if (auto violation = check_rows()) return violation;
    if (auto violation = check_complete()) return violation;
    if (auto violation = check_times()) return violation;
    if (auto violation = check_memory()) return violation;
    return check_claims();
  }

 private:
  static std::size_t slots_per_replica(const Model& model) {
    return model.forward.size() * static_cast<std::size_t>(model.total_microbatches());
  }

  const Model& model_of(const OpLabel& label) const { return problem_.models[label.model.index()]; }

  Positions& positions_of(const OpLabel& label) {
    const Model& model = model_of(label);
    const std::size_t stage_begin = label.stage.index() * static_cast<std::size_t>(model.total_microbatches());
    return positions_[model_begin_[label.model.index()] + label.replica.index() * slots_per_replica(model) +
                      stage_begin + label.microbatch.index()];
  }

  Position& position_of(const OpLabel& label) { return positions_of(label)[static_cast<std::size_t>(label.kind)]; }

  const ScheduledOp& op_at(Position position) const {
    return schedule_.devices[static_cast<std::size_t>(position.device)][static_cast<std::size_t>(position.row)];
  }

  std::string text(const ScheduledOp& op) const {
    return fmt::format("{} [{}, {}] on device {}", describe(problem_, op.label),
                       base::format_time(op.start, problem_.time_unit), base::format_time(op.end, problem_.time_unit),
                       device_of(op.label).value);
  }

  DeviceId device_of(const OpLabel& label) const {
    return model_of(label).replicas[label.replica.index()][label.stage.index()];
  }

  static Violation at(Rule rule, std::string message, Position position) {
    return {rule, std::move(message), static_cast<std::size_t>(position.device),
            static_cast<std::size_t>(position.row)};
  }

  /// Checks that each row is an op of the problem, on its device, once, and with its duration.
  std::optional<Violation> check_rows() {
    if (schedule_.devices.size() != static_cast<std::size_t>(problem_.devices))
      return Violation{Rule::wrong_device,
                       fmt::format("the schedule has {} devices, but the problem has {}", schedule_.devices.size(),
                                   problem_.devices),
                       {},
                       {}};
    for (std::size_t device = 0; device < schedule_.devices.size(); ++device)
      for (std::size_t row = 0; row < schedule_.devices[device].size(); ++row) {
        const Position position{static_cast<std::int32_t>(device), static_cast<std::int32_t>(row)};
        if (auto violation = check_row(op_at(position), position)) return violation;
      }
    return std::nullopt;
  }

  std::optional<Violation> check_row(const ScheduledOp& op, Position position) {
    if (const auto fault = unknown(op.label)) return at(Rule::unknown_op, *fault, position);
    const std::string name = describe(problem_, op.label);
    if (device_of(op.label).value != position.device)
      return at(Rule::wrong_device,
                fmt::format("{} is on device {}; its stage is on device {}", name, position.device,
                            device_of(op.label).value),
                position);
    Positions& positions = positions_of(op.label);
    if (const auto other = rival_of(op.label.kind, positions))
      return at(Rule::duplicate_op,
                fmt::format("{} is a duplicate: {} already does this work", name, text(op_at(*other))), position);
    positions[static_cast<std::size_t>(op.label.kind)] = position;
    const Ticks duration = duration_of(op.label);
    if (op.end - op.start != duration)
      return at(Rule::wrong_duration,
                fmt::format("{} lasts {}; in the problem it lasts {}", name,
                            base::format_time(op.end - op.start, problem_.time_unit),
                            base::format_time(duration, problem_.time_unit)),
                position);
    if (op.start < Ticks(0)) return at(Rule::precedence, fmt::format("{} starts before time 0", name), position);
    return std::nullopt;
  }

  std::optional<std::string> unknown(const OpLabel& label) const {
    const auto outside = [](std::int32_t value, std::size_t count) {
      return value < 0 || static_cast<std::size_t>(value) >= count;
    };
    if (outside(label.model.value, problem_.models.size()))
      return fmt::format("model {} does not exist; the problem has {}, numbered from 0", label.model.value,
                         problem_.models.size());
    const Model& model = model_of(label);
    if (outside(label.replica.value, model.replicas.size()))
      return fmt::format("model {} has no replica {}; it has {}, numbered from 0", model.name, label.replica.value,
                         model.replicas.size());
    if (outside(label.stage.value, model.forward.size()))
      return fmt::format("model {} has no stage {}; it has {}, numbered from 0", model.name, label.stage.value,
                         model.stages());
    const bool step = label.kind == OpKind::S;
    if (step && !model.has_steps()) return fmt::format("model {} has no optimizer steps", model.name);
    const int count = step ? model.minibatches : model.total_microbatches();
    if (outside(label.microbatch.value, static_cast<std::size_t>(count)))
      return fmt::format("model {} has no {} {}; it has {}, numbered from 0", model.name,
                         step ? "mini-batch" : "micro-batch", label.microbatch.value, count);
    if ((label.kind == OpKind::I || label.kind == OpKind::W) && !model.split())
      return fmt::format("model {} does not split its backward: it has no {}", model.name, letter_of(label.kind));
    return std::nullopt;
  }

  /// Returns a row that already does the work of an op of `kind`: the op itself, or the other form of backward.
  static std::optional<Position> rival_of(OpKind kind, const Positions& positions) {
    const auto present = [&](OpKind other) { return positions[static_cast<std::size_t>(other)].present(); };
    const auto found = [&](OpKind other) { return std::optional(positions[static_cast<std::size_t>(other)]); };
    if (present(kind)) return found(kind);
    if (kind == OpKind::B && present(OpKind::I)) return found(OpKind::I);
    if (kind == OpKind::B && present(OpKind::W)) return found(OpKind::W);
    if ((kind == OpKind::I || kind == OpKind::W) && present(OpKind::B)) return found(OpKind::B);
    return std::nullopt;
  }

  Ticks duration_of(const OpLabel& label) const {
    const Model& model = model_of(label);
    const std::size_t stage = label.stage.index();
    switch (label.kind) {
      case OpKind::F:
        return model.forward[stage];
      case OpKind::I:
        return model.backward[stage];
      case OpKind::W:
        return model.weight_gradient[stage];
      case OpKind::S:
        return model.step[stage];
      case OpKind::B:
        break;
    }
    return model.split() ? model.backward[stage] + model.weight_gradient[stage] : model.backward[stage];
  }

  /// Calls visit(label of kind F) for every (model, replica, stage, micro-batch) until it returns a violation.
  template <class Visit>
  std::optional<Violation> for_each_slot(Visit visit) {
    for (std::size_t m = 0; m < problem_.models.size(); ++m)
      for (std::size_t r = 0; r < problem_.models[m].replicas.size(); ++r)
        for (int s = 0; s < problem_.models[m].stages(); ++s)
          for (int k = 0; k < problem_.models[m].total_microbatches(); ++k)
            if (auto violation = visit(OpLabel{OpKind::F, ModelId(m), ReplicaId(r), StageId(s), MicrobatchId(k)}))
              return violation;
    return std::nullopt;
  }

  std::optional<Violation> check_complete() {
    return for_each_slot([this](OpLabel label) -> std::optional<Violation> {
      const Model& model = model_of(label);
      const Positions& positions = positions_of(label);
      const auto missing = [&](OpKind kind) { return !positions[static_cast<std::size_t>(kind)].present(); };
      std::optional<OpKind> missing_kind;
      if (missing(OpKind::F))
        missing_kind = OpKind::F;
      else if (!model.split() && missing(OpKind::B))
        missing_kind = OpKind::B;
      else if (model.split() && missing(OpKind::B) && missing(OpKind::I))
        missing_kind = OpKind::I;
      else if (model.split() && missing(OpKind::B) && missing(OpKind::W))
        missing_kind = OpKind::W;
      else if (model.has_steps() && label.microbatch.value < model.minibatches && missing(OpKind::S))
        missing_kind = OpKind::S;
      if (!missing_kind) return std::nullopt;
      label.kind = *missing_kind;
      return Violation{Rule::missing_op,
                       fmt::format("{} is missing on device {}", describe(problem_, label), device_of(label).value),
                       device_of(label).index(), std::nullopt};
    });
  }

  /// Finds the earliest op (by start, device, row) that overlaps another or starts before its predecessors allow.
  std::optional<Violation> check_times() {
    std::vector<std::tuple<Ticks, std::int32_t, std::int32_t>> rows;
    for (std::size_t device = 0; device < schedule_.devices.size(); ++device)
      for (std::size_t row = 0; row < schedule_.devices[device].size(); ++row)
        rows.emplace_back(schedule_.devices[device][row].start, static_cast<std::int32_t>(device),
                          static_cast<std::int32_t>(row));
    std::sort(rows.begin(), rows.end(), [this](const auto& a, const auto& b) {
      const auto key = [this](const auto& row) {
        const auto& [start, device, index] = row;
        return std::tuple(start, op_at({device, index}).end, device, index);
      };
      return key(a) < key(b);
    });
    std::vector<Position> running(schedule_.devices.size());
    for (const auto& [start, device, row] : rows) {
      const Position position{device, row};
      Position& previous = running[static_cast<std::size_t>(device)];
      if (previous.present() && start < op_at(previous).end)
        return at(Rule::overlap,
                  fmt::format("{} starts before {} has ended", text(op_at(position)), text(op_at(previous))), position);
      previous = position;
      if (auto violation = check_precedence(op_at(position), position)) return violation;
    }
    return std::nullopt;
  }

  std::optional<Violation> after(const ScheduledOp& op, Position position, const ScheduledOp& needed,
                                 Ticks delay) const {
    if (op.start >= needed.end + delay) return std::nullopt;
    const std::string travels =
        delay > Ticks(0) ? fmt::format(" plus a transfer of {}", base::format_time(delay, problem_.time_unit)) : "";
    return at(Rule::precedence, fmt::format("{} starts too early: it needs {}{}", text(op), text(needed), travels),
              position);
  }

  /// Returns the row of `kind` in a slot. For I or W it may be the whole backward B, which replaces both.
  Position position_of_row(OpLabel label, OpKind kind) {
    label.kind = kind;
    if ((kind == OpKind::I || kind == OpKind::W) && !position_of(label).present()) label.kind = OpKind::B;
    return position_of(label);
  }
  const ScheduledOp& row_of(const OpLabel& label, OpKind kind) { return op_at(position_of_row(label, kind)); }

  static Ticks delay_between(const Model& model, const OpLabel& label, std::int32_t from, std::int32_t to) {
    const auto& devices = model.replicas[label.replica.index()];
    if (devices[static_cast<std::size_t>(from)] == devices[static_cast<std::size_t>(to)]) return Ticks(0);
    return from < to ? model.transfer_forward[static_cast<std::size_t>(from)]
                     : model.transfer_backward[static_cast<std::size_t>(to)];
  }

  std::optional<Violation> check_precedence(const ScheduledOp& op, Position position) {
    switch (op.label.kind) {
      case OpKind::F:
        return check_forward(op, position);
      case OpKind::W:
        return after(op, position, row_of(op.label, OpKind::I), Ticks(0));
      case OpKind::S:
        return check_step(op, position);
      case OpKind::B:
      case OpKind::I:
        break;
    }
    return check_backward(op, position);
  }

  std::optional<Violation> check_forward(const ScheduledOp& op, Position position) {
    const Model& model = model_of(op.label);
    if (op.label.stage.value > 0) {
      OpLabel before = op.label;
      --before.stage.value;
      const Ticks delay = delay_between(model, op.label, before.stage.value, op.label.stage.value);
      if (auto violation = after(op, position, row_of(before, OpKind::F), delay)) return violation;
    }
    const int minibatch = op.label.microbatch.value / model.microbatches;
    if (!model.has_steps() || minibatch == 0) return std::nullopt;
    OpLabel step = op.label;
    step.microbatch = MicrobatchId(minibatch - 1);
    if (auto violation = after(op, position, row_of(step, OpKind::S), Ticks(0))) return violation;
    if (model.step_before == StepBefore::own) return std::nullopt;
    for (std::size_t r = 0; r < model.replicas.size(); ++r) {
      step.replica = ReplicaId(r);
      if (auto violation = after(op, position, row_of(step, OpKind::S), Ticks(0))) return violation;
    }
    return std::nullopt;
  }

  std::optional<Violation> check_backward(const ScheduledOp& op, Position position) {
    const Model& model = model_of(op.label);
    if (auto violation = after(op, position, row_of(op.label, OpKind::F), Ticks(0))) return violation;
    if (op.label.stage.value + 1 == model.stages()) return std::nullopt;
    OpLabel next = op.label;
    ++next.stage.value;
    return after(op, position, row_of(next, OpKind::I),
                 delay_between(model, op.label, next.stage.value, op.label.stage.value));
  }

  std::optional<Violation> check_step(const ScheduledOp& op, Position position) {
    const Model& model = model_of(op.label);
    if (model.step_after == StepAfter::model) return after(op, position, last_backward(op.label), Ticks(0));
    for (std::size_t r = 0; r < model.replicas.size(); ++r)
      for (int m = 0; m < model.microbatches; ++m) {
        const OpLabel needed{OpKind::W, op.label.model, ReplicaId(r), op.label.stage,
                             MicrobatchId(op.label.microbatch.value * model.microbatches + m)};
        if (auto violation = after(op, position, row_of(needed, OpKind::W), Ticks(0))) return violation;
      }
    return std::nullopt;
  }

  /// Returns the B or W of the mini-batch that ends last, on any stage in any replica. All steps of the mini-batch need
  /// it and finding it scans all rows, so the result is cached.
  const ScheduledOp& last_backward(const OpLabel& step) {
    const auto [found, is_new] = last_backwards_.try_emplace({step.model, step.microbatch});
    if (!is_new) return op_at(found->second);
    const Model& model = model_of(step);
    for (std::size_t r = 0; r < model.replicas.size(); ++r)
      for (int s = 0; s < model.stages(); ++s)
        for (int m = 0; m < model.microbatches; ++m) {
          const OpLabel needed{OpKind::W, step.model, ReplicaId(r), StageId(s),
                               MicrobatchId(step.microbatch.value * model.microbatches + m)};
          const Position position = position_of_row(needed, OpKind::W);
          if (!found->second.present() || op_at(position).end > op_at(found->second).end) found->second = position;
        }
    return op_at(found->second);
  }

  /// Returns the change that an op makes to the memory of its device, at its start (F) or at its end.
  std::pair<Ticks, Memory> change_of(const ScheduledOp& op) const {
    const Model& model = model_of(op.label);
    const std::size_t stage = op.label.stage.index();
    const Memory none;
    switch (op.label.kind) {
      case OpKind::F:
        return {op.start, model.activation[stage]};
      case OpKind::B:
        return {op.end, none - model.activation[stage]};
      case OpKind::I:
        return {op.end, model.weight_activation[stage] - model.activation[stage]};
      case OpKind::W:
        return {op.end, none - model.weight_activation[stage]};
      case OpKind::S:
        break;
    }
    return {op.end, none};
  }

  std::optional<Violation> check_memory() {
    for (std::size_t device = 0; device < schedule_.devices.size(); ++device) {
      std::vector<std::tuple<Ticks, Memory, Position>> changes;
      for (std::size_t row = 0; row < schedule_.devices[device].size(); ++row) {
        const auto [time, change] = change_of(schedule_.devices[device][row]);
        changes.emplace_back(time, change, Position{static_cast<std::int32_t>(device), static_cast<std::int32_t>(row)});
      }
      std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) {
        const auto key = [](const auto& change) {
          return std::tuple(std::get<0>(change), std::get<1>(change), std::get<2>(change).row);
        };
        return key(a) < key(b);
      });
      Memory held;
      for (const auto& [time, change, position] : changes) {
        held += change;
        peak_ = std::max(peak_, held);
        const Memory used = held + problem_.resident[device];
        if (problem_.capacity && used > (*problem_.capacity)[device])
          return at(Rule::capacity,
                    fmt::format("{} raises the memory of device {} to {}; its capacity is {}", text(op_at(position)),
                                device, base::format_memory(used), base::format_memory((*problem_.capacity)[device])),
                    position);
      }
    }
    return std::nullopt;
  }

  std::optional<Violation> check_claims() const {
    Ticks makespan;
    for (const auto& device : schedule_.devices)
      for (const ScheduledOp& op : device) makespan = std::max(makespan, op.end);
    const Claims& claims = schedule_.claims;
    if (claims.makespan && *claims.makespan != makespan)
      return Violation{Rule::false_makespan,
                       fmt::format("the file claims makespan {}; the actual value is {}",
                                   base::format_time(*claims.makespan, problem_.time_unit),
                                   base::format_time(makespan, problem_.time_unit)),
                       {},
                       {}};
    if (claims.peak_activation && std::abs((*claims.peak_activation - peak_).count()) > tolerance_.activation.count())
      return Violation{Rule::false_peak,
                       fmt::format("the file claims peak activation {}; the actual value is {}",
                                   base::format_memory(*claims.peak_activation), base::format_memory(peak_)),
                       {},
                       {}};
    return std::nullopt;
  }

  const Schedule& schedule_;
  const Problem& problem_;
  Tolerance tolerance_;
  std::vector<std::size_t> model_begin_;
  std::size_t positions_count_ = 0;
  std::vector<Positions> positions_;
  std::map<std::pair<ModelId, MicrobatchId>, Position> last_backwards_;  // cache, by mini-batch
  Memory peak_;
};

}  // namespace

std::string_view name_of(Rule rule) {
  switch (rule) {
    case Rule::unknown_op:
      return "unknown op";
    case Rule::wrong_device:
      return "wrong device";
    case Rule::duplicate_op:
      return "duplicate op";
    case Rule::wrong_duration:
      return "wrong duration";
    case Rule::missing_op:
      return "missing op";
    case Rule::overlap:
      return "overlap";
    case Rule::precedence:
      return "broken precedence";
    case Rule::capacity:
      return "capacity exceeded";
    case Rule::false_makespan:
      return "false makespan";
    case Rule::false_peak:
      return "false peak activation";
  }
  return "";
}

std::optional<Violation> validate(const Schedule& schedule, Tolerance tolerance) {
  return Validator(schedule, tolerance).run();
}

}  // namespace dovetail::pipeline
