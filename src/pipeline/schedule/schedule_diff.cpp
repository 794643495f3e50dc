#include "pipeline/schedule/schedule_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace dovetail::pipeline {
namespace {

/// Values of a model for each stage or boundary, with their name.
struct NamedTimes {
  std::string_view name;
  std::vector<Ticks> Model::* values;
};
constexpr std::array<NamedTimes, 6> stage_times{{{"forward", &Model::forward},
                                                 {"backward", &Model::backward},
                                                 {"weight_gradient", &Model::weight_gradient},
                                                 {"step", &Model::step},
                                                 {"forward transfer", &Model::transfer_forward},
                                                 {"backward transfer", &Model::transfer_backward}}};
struct NamedMemories {
  std::string_view name;
  std::vector<Memory> Model::* values;
};
constexpr std::array<NamedMemories, 2> stage_memories{
    {{"activation", &Model::activation}, {"weight_activation", &Model::weight_activation}}};

class ProblemComparison {
 public:
  ProblemComparison(const Problem& a, const Problem& b, std::string_view a_name, std::string_view b_name)
      : a_(a), b_(b), a_name_(a_name), b_name_(b_name) {}

  std::optional<std::string> run() {
    if ((a_.time_unit == TimeUnit::tick) != (b_.time_unit == TimeUnit::tick))
      return difference("the time_unit", base::name_of(a_.time_unit), base::name_of(b_.time_unit));
    if (a_.devices != b_.devices) return difference("the number of devices", a_.devices, b_.devices);
    if (a_.models.size() != b_.models.size())
      return difference("the number of models", a_.models.size(), b_.models.size());
    for (std::size_t model = 0; model < a_.models.size(); ++model)
      if (auto difference = compare_models(a_.models[model], b_.models[model])) return difference;
    return std::nullopt;
  }

 private:
  template <class Value>
  std::string difference(std::string_view what, const Value& a, const Value& b) const {
    return fmt::format("{} is {} in {} and {} in {}", what, a, a_name_, b, b_name_);
  }

  std::optional<std::string> compare_models(const Model& a, const Model& b) const {
    const auto of_model = [&a](std::string_view what) { return fmt::format("{} of model {}", what, a.name); };
    if (a.microbatches != b.microbatches)
      return difference(of_model("the number of micro-batches"), a.microbatches, b.microbatches);
    if (a.minibatches != b.minibatches)
      return difference(of_model("the number of mini-batches"), a.minibatches, b.minibatches);
    if (a.replicas.size() != b.replicas.size())
      return difference(of_model("the number of replicas"), a.replicas.size(), b.replicas.size());
    if (a.stages() != b.stages()) return difference(of_model("the number of stages"), a.stages(), b.stages());
    if (a.split() != b.split())
      return difference(of_model("the backward"), a.split() ? "split" : "whole", b.split() ? "split" : "whole");
    if (a.step_after != b.step_after)
      return difference(of_model("step_after"), base::enum_name(a.step_after), base::enum_name(b.step_after));
    if (a.step_before != b.step_before)
      return difference(of_model("step_before"), base::enum_name(a.step_before), base::enum_name(b.step_before));
    for (std::size_t replica = 0; replica < a.replicas.size(); ++replica)
      for (std::size_t stage = 0; stage < a.replicas[replica].size(); ++stage)
        if (a.replicas[replica][stage] != b.replicas[replica][stage])
          return difference(fmt::format("the device of stage {} of replica {} of model {}", stage, replica, a.name),
                            a.replicas[replica][stage].value, b.replicas[replica][stage].value);
    return compare_costs(a, b);
  }

  std::optional<std::string> compare_costs(const Model& a, const Model& b) const {
    const auto what = [&a](std::string_view name, std::size_t at) {
      return fmt::format("{} of {} {} of model {}", name, name.ends_with("transfer") ? "boundary" : "stage", at,
                         a.name);
    };
    for (const auto& [name, values] : stage_times)
      for (std::size_t at = 0; at < (a.*values).size(); ++at)
        if ((a.*values)[at] != (b.*values)[at])
          return difference(what(name, at), base::format_time((a.*values)[at], a_.time_unit),
                            base::format_time((b.*values)[at], a_.time_unit));
    for (const auto& [name, values] : stage_memories)
      for (std::size_t at = 0; at < (a.*values).size(); ++at)
        if ((a.*values)[at] != (b.*values)[at])
          return difference(what(name, at), base::format_memory((a.*values)[at]), base::format_memory((b.*values)[at]));
    return std::nullopt;
  }

  const Problem& a_;
  const Problem& b_;
  std::string_view a_name_;
  std::string_view b_name_;
};

/// Returns the ops of one device in order of time, with micro-batches numbered by time.
std::vector<PlacedOp> ordered_ops(const std::vector<ScheduledOp>& rows) {
  std::vector<PlacedOp> ops;
  ops.reserve(rows.size());
  for (const ScheduledOp& row : rows) ops.push_back({row.label, 0, row.start, row.end});
  std::sort(ops.begin(), ops.end(), [](const PlacedOp& x, const PlacedOp& y) {
    return std::tie(x.start, x.end, x.op) < std::tie(y.start, y.end, y.op);
  });
  std::map<std::tuple<OpKind, ModelId, ReplicaId, StageId>, std::int32_t> seen;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ops[i].position = i;
    const OpLabel& op = ops[i].op;
    ops[i].op.microbatch = MicrobatchId(seen[{op.kind, op.model, op.replica, op.stage}]++);
  }
  return ops;
}

/// [i] Whether values[i] is in a longest increasing subsequence (patience sorting; values are distinct).
std::vector<bool> max_rising(const std::vector<std::size_t>& values) {
  std::vector<std::size_t>
      pile_top;  // [length - 1] index of the smallest value that ends an increasing sequence of that length
  std::vector<std::size_t> before(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place =
        std::lower_bound(pile_top.begin(), pile_top.end(), values[i],
                         [&values](std::size_t index, std::size_t value) { return values[index] < value; });
    before[i] = place == pile_top.begin() ? values.size() : *(place - 1);
    if (place == pile_top.end()) {
      pile_top.push_back(i);
    } else {
      *place = i;
    }
  }
  std::vector<bool> kept(values.size());
  for (std::size_t i = pile_top.empty() ? values.size() : pile_top.back(); i < values.size(); i = before[i])
    kept[i] = true;
  return kept;
}

class ScheduleComparison {
 public:
  void add_device(DeviceId device, const std::vector<PlacedOp>& a, const std::vector<PlacedOp>& b) {
    find_divergence(device, a, b);
    std::map<OpLabel, std::size_t> place_in_b;
    for (std::size_t i = 0; i < b.size(); ++i) place_in_b.emplace(b[i].op, i);
    std::vector<std::size_t> in_a;
    std::vector<std::size_t> in_b;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto found = place_in_b.find(a[i].op);
      if (found == place_in_b.end()) continue;
      in_a.push_back(i);
      in_b.push_back(found->second);
    }
    DeviceDifference& difference = difference_.devices.emplace_back();
    difference.matched = static_cast<std::int64_t>(in_a.size());
    difference.only_in_a = static_cast<std::int64_t>(a.size()) - difference.matched;
    difference.only_in_b = static_cast<std::int64_t>(b.size()) - difference.matched;
    const std::vector<bool> kept = max_rising(in_b);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) continue;
      ++difference.moved;
      difference_.moves.push_back({device, a[in_a[i]], b[in_b[i]]});
    }
    if (difference.moved + difference.only_in_a + difference.only_in_b > 0) difference_.same_order = false;
  }

  ScheduleDifference take(std::size_t max_moves) && {
    std::vector<Move>& moves = difference_.moves;
    const auto key = [](const Move& move) {
      const std::int64_t shift = (move.b.start - move.a.start).count();
      return std::tuple(shift < 0 ? shift : -shift, move.device, move.a.position);
    };
    const auto shown = static_cast<std::ptrdiff_t>(std::min(max_moves, moves.size()));
    std::partial_sort(moves.begin(), moves.begin() + shown, moves.end(),
                      [&](const Move& x, const Move& y) { return key(x) < key(y); });
    moves.erase(moves.begin() + shown, moves.end());
    return std::move(difference_);
  }

 private:
  static Ticks time_of(const Divergence& divergence) {
    if (!divergence.a) return divergence.b->start;
    return divergence.b ? std::min(divergence.a->start, divergence.b->start) : divergence.a->start;
  }

  void find_divergence(DeviceId device, const std::vector<PlacedOp>& a, const std::vector<PlacedOp>& b) {
    const std::size_t both = std::min(a.size(), b.size());
    std::size_t at = 0;
    while (at < both && a[at].op == b[at].op && a[at].start == b[at].start && a[at].end == b[at].end) ++at;
    if (at == a.size() && at == b.size()) return;
    Divergence divergence{device, {}, {}};
    if (at < a.size()) divergence.a = a[at];
    if (at < b.size()) divergence.b = b[at];
    if (!difference_.divergence || time_of(divergence) < time_of(*difference_.divergence))
      difference_.divergence = divergence;
  }

  ScheduleDifference difference_;
};

}  // namespace

std::optional<std::string> find_difference(const Problem& a, const Problem& b, std::string_view a_name,
                                           std::string_view b_name) {
  return ProblemComparison(a, b, a_name, b_name).run();
}

ScheduleDifference diff_schedules(const Schedule& a, const Schedule& b, std::size_t max_moves) {
  ScheduleComparison comparison;
  for (std::size_t device = 0; device < a.devices.size(); ++device)
    comparison.add_device(DeviceId(device), ordered_ops(a.devices[device]), ordered_ops(b.devices[device]));
  return std::move(comparison).take(max_moves);
}

}  // namespace dovetail::pipeline
