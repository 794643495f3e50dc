#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "pipeline/formats/pytorch_csv_actions.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/schedule/evaluate.h"

namespace dovetail::pipeline {
namespace {

using base::Error;
using base::Failure;
using base::FilePlace;
using base::Result;
using base::Status;

Error error_at(const std::string& path, FilePlace place, Failure failure, std::string message) {
  return {failure, path, place.line, place.column, std::move(message)};
}

/// Actions of one micro-batch on one stage.
struct Slot {
  const Action* forward = nullptr;
  const Action* backward = nullptr;  ///< B or I
  const Action* weight_gradient = nullptr;
  const Action* receive_forward = nullptr;
  const Action* send_forward = nullptr;
  const Action* receive_backward = nullptr;
  const Action* send_backward = nullptr;
};

/// Assigns each action to its slot, and checks that every op is present once, on the rank of its stage.
class SlotTable {
 public:
  SlotTable(const ActionFile& file, const std::string& path, const Model& model, const std::vector<int>& stage_ranks)
      : file_(file), path_(path), model_(model), stage_ranks_(stage_ranks) {}

  Status fill() {
    for (const auto& rank : file_.ranks)
      for (const Action& action : rank)
        if (action.verb != Verb::skipped) DOVETAIL_CHECK(check_action(action));
    DOVETAIL_CHECK(check_forwards());
    slots_.resize(static_cast<std::size_t>(model_.stages()) * microbatches());
    for (const auto& rank : file_.ranks)
      for (const Action& action : rank)
        if (action.verb != Verb::skipped) DOVETAIL_CHECK(place_action(action));
    for (int stage = 0; stage < model_.stages(); ++stage)
      for (int microbatch = 0; microbatch < model_.microbatches; ++microbatch)
        DOVETAIL_CHECK(check_backward(stage, microbatch));
    return {};
  }

  const Slot& at(int stage, int microbatch) const {
    return slots_[static_cast<std::size_t>(stage) * microbatches() + static_cast<std::size_t>(microbatch)];
  }

  /// Returns which backwards are whole, in the order of Lowering::microbatch_ops.
  std::vector<bool> whole_backwards() const {
    std::vector<bool> whole;
    for (const Slot& slot : slots_) whole.push_back(slot.backward->verb == Verb::whole_backward);
    return whole;
  }

 private:
  std::size_t microbatches() const { return static_cast<std::size_t>(model_.microbatches); }
  Slot& slot_of(const Action& action) {
    return slots_[static_cast<std::size_t>(action.stage) * microbatches() +
                  static_cast<std::size_t>(action.microbatch)];
  }
  Error invalid(FilePlace place, std::string message) const {
    return error_at(path_, place, Failure::invalid, std::move(message));
  }

  Status check_action(const Action& action) const {
    const std::string text = text_of(action);
    if (action.stage >= model_.stages())
      return invalid(action.place, fmt::format("{}: stage {} does not exist; model `{}` has {}, numbered from 0", text,
                                               action.stage, model_.name, model_.stages()));
    if (action.microbatch >= model_.microbatches)
      return invalid(action.place, fmt::format("{}: micro-batch {} does not exist; model `{}` has {}, numbered from 0",
                                               text, action.microbatch, model_.name, model_.microbatches));
    const int rank = stage_ranks_[static_cast<std::size_t>(action.stage)];
    if (action.rank != rank)
      return invalid(
          action.place,
          fmt::format("{} is in row {}, but the actions of stage {} must be in row {} (rows are counted from 0)", text,
                      action.rank, action.stage, rank));
    const bool half = action.verb == Verb::input_gradient || action.verb == Verb::weight_gradient;
    if (half && !model_.split())
      return invalid(action.place,
                     fmt::format("{} is half of a split backward, but model `{}` has no `weight_gradient`; use B", text,
                                 model_.name));
    return {};
  }

  /// Checks forwards before the table is allocated, so that a small file with a large micro-batch number stays cheap.
  Status check_forwards() const {
    std::vector<std::int64_t> keys;
    for_each_action(file_, [&](const Action& action) {
      if (action.verb == Verb::forward)
        keys.push_back(std::int64_t{action.stage} * model_.microbatches + action.microbatch);
    });
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    const std::int64_t needed = std::int64_t{model_.stages()} * model_.microbatches;
    if (static_cast<std::int64_t>(keys.size()) == needed) return {};
    std::int64_t missing = 0;
    while (missing < static_cast<std::int64_t>(keys.size()) && keys[static_cast<std::size_t>(missing)] == missing)
      ++missing;
    return missing_op(static_cast<int>(missing / model_.microbatches), 'F',
                      static_cast<int>(missing % model_.microbatches));
  }

  Error missing_op(int stage, char kind, int microbatch) const {
    const auto rank = static_cast<std::size_t>(stage_ranks_[static_cast<std::size_t>(stage)]);
    const FilePlace end_of_file = file_.rank_places.back();
    const FilePlace row_place = rank < file_.ranks.size() ? file_.rank_places[rank] : end_of_file;
    const bool has_ops = rank < file_.ranks.size() && !file_.ranks[rank].empty();
    return invalid(has_ops ? file_.ranks[rank].back().place : row_place,
                   fmt::format("{}{}{} is missing in row {} (rows are counted from 0)", stage, kind, microbatch, rank));
  }

  Status place_action(const Action& action) {
    Slot& slot = slot_of(action);
    const Action*& here = place_in(slot, action.verb);
    const Action* rival = here;
    if (action.verb == Verb::whole_backward && !rival) rival = slot.weight_gradient;
    if (action.verb == Verb::weight_gradient && slot.backward && slot.backward->verb == Verb::whole_backward)
      rival = slot.backward;
    if (rival)
      return invalid(action.place,
                     fmt::format("{} is a duplicate: {} on line {}, column {} already does this work", text_of(action),
                                 text_of(*rival), rival->place.line, rival->place.column));
    here = &action;
    return {};
  }

  static const Action*& place_in(Slot& slot, Verb verb) {
    switch (verb) {
      case Verb::forward:
        return slot.forward;
      case Verb::weight_gradient:
        return slot.weight_gradient;
      case Verb::send_forward:
        return slot.send_forward;
      case Verb::receive_forward:
        return slot.receive_forward;
      case Verb::send_backward:
        return slot.send_backward;
      case Verb::receive_backward:
        return slot.receive_backward;
      case Verb::whole_backward:
      case Verb::input_gradient:
      case Verb::skipped:
        break;
    }
    return slot.backward;
  }

  Status check_backward(int stage, int microbatch) const {
    const Slot& slot = at(stage, microbatch);
    if (!slot.backward) return missing_op(stage, model_.split() ? 'I' : 'B', microbatch);
    if (slot.backward->verb == Verb::input_gradient && !slot.weight_gradient) return missing_op(stage, 'W', microbatch);
    return {};
  }

  const ActionFile& file_;
  const std::string& path_;
  const Model& model_;
  const std::vector<int>& stage_ranks_;
  std::vector<Slot> slots_;
};

/// Checks the SENDs and RECVs of a file that has any.
class CommunicationCheck {
 public:
  CommunicationCheck(const SlotTable& slots, const std::string& path, const Model& model,
                     const std::vector<int>& stage_ranks)
      : slots_(slots), path_(path), model_(model), stage_ranks_(stage_ranks) {}

  Status run() const {
    for (int stage = 0; stage < model_.stages(); ++stage)
      for (int microbatch = 0; microbatch < model_.microbatches; ++microbatch) {
        const Slot& slot = slots_.at(stage, microbatch);
        const Slot* before = stage > 0 ? &slots_.at(stage - 1, microbatch) : nullptr;
        const Slot* after = stage + 1 < model_.stages() ? &slots_.at(stage + 1, microbatch) : nullptr;
        DOVETAIL_CHECK(check_receive({stage, stage - 1, "RECV_F", "SEND_F"}, slot.receive_forward, slot.forward,
                                     before ? before->send_forward : nullptr));
        DOVETAIL_CHECK(check_receive({stage, stage + 1, "RECV_B", "SEND_B"}, slot.receive_backward, slot.backward,
                                     after ? after->send_backward : nullptr));
        DOVETAIL_CHECK(check_send({stage, stage + 1, "SEND_F", "RECV_F"}, slot.send_forward, slot.forward,
                                  after ? after->receive_forward : nullptr));
        DOVETAIL_CHECK(check_send({stage, stage - 1, "SEND_B", "RECV_B"}, slot.send_backward, slot.backward,
                                  before ? before->receive_backward : nullptr));
      }
    return {};
  }

 private:
  /// One end of a message: its stage and action, and those of the other end.
  struct End {
    int stage;
    int other_stage;
    std::string_view name;
    std::string_view other_name;
  };

  Error invalid(const Action& action, std::string message) const {
    return error_at(path_, action.place, Failure::invalid, std::move(message));
  }

  /// Whether messages pass between the two stages. Returns an Error if there is a message although none should pass.
  Result<bool> is_crossed(const End& end, const Action* message) const {
    const bool exists = end.other_stage >= 0 && end.other_stage < model_.stages();
    const bool crossed = exists && stage_ranks_[static_cast<std::size_t>(end.stage)] !=
                                       stage_ranks_[static_cast<std::size_t>(end.other_stage)];
    if (crossed || !message) return crossed;
    if (!exists)
      return invalid(*message, fmt::format("{}: no stage {} to exchange it with", text_of(*message), end.other_stage));
    return invalid(*message, fmt::format("{}: stages {} and {} are on one rank and exchange no messages",
                                         text_of(*message), end.stage, end.other_stage));
  }

  Status check_receive(const End& end, const Action* receive, const Action* consumer, const Action* send) const {
    DOVETAIL_TRY(const bool crossed, is_crossed(end, receive));
    if (!crossed) return {};
    if (!receive)
      return invalid(*consumer, fmt::format("{} has no {}{}{} before it", text_of(*consumer), end.stage, end.name,
                                            consumer->microbatch));
    if (!send)
      return invalid(*receive,
                     fmt::format("{} has no {}{}{} on rank {}", text_of(*receive), end.other_stage, end.other_name,
                                 receive->microbatch, stage_ranks_[static_cast<std::size_t>(end.other_stage)]));
    if (receive->position > consumer->position)
      return invalid(*receive, fmt::format("{} comes after {}, which needs it", text_of(*receive), text_of(*consumer)));
    return {};
  }

  Status check_send(const End& end, const Action* send, const Action* producer, const Action* receive) const {
    DOVETAIL_TRY(const bool crossed, is_crossed(end, send));
    if (!crossed || !send) return {};
    if (!receive)
      return invalid(*send, fmt::format("{} has no {}{}{} on rank {}", text_of(*send), end.other_stage, end.other_name,
                                        send->microbatch, stage_ranks_[static_cast<std::size_t>(end.other_stage)]));
    if (send->position < producer->position)
      return invalid(*send, fmt::format("{} comes before {}, which produces it", text_of(*send), text_of(*producer)));
    return {};
  }

  const SlotTable& slots_;
  const std::string& path_;
  const Model& model_;
  const std::vector<int>& stage_ranks_;
};

/// Returns the first op of a rank that never runs under `order`, and an op that it waits for, which does not run
/// either.
std::pair<OpId, OpId> find_deadlock(const OpGraph& graph, const Order& order) {
  std::vector<bool> done(graph.size());
  std::vector<std::size_t> next(order.devices.size());
  const auto blocker_of = [&](OpId op) -> std::optional<OpId> {
    for (const Arc& arc : graph.predecessors(op))
      if (!done[arc.op.index()]) return arc.op;
    return std::nullopt;
  };
  const auto head_of = [&](std::size_t device) { return order.devices[device][next[device]]; };
  const auto has_head = [&](std::size_t device) { return next[device] < order.devices[device].size(); };
  std::vector<std::size_t> pending(order.devices.size());
  std::iota(pending.begin(), pending.end(), std::size_t{0});
  while (!pending.empty()) {
    const std::size_t device = pending.back();
    pending.pop_back();
    for (; has_head(device) && !blocker_of(head_of(device)); ++next[device]) {
      const OpId op = head_of(device);
      done[op.index()] = true;
      for (const Arc& arc : graph.successors(op)) {
        const std::size_t other = graph.device[arc.op.index()].index();
        if (has_head(other) && head_of(other) == arc.op) pending.push_back(other);
      }
    }
  }
  for (std::size_t device = 0; device < order.devices.size(); ++device)
    if (has_head(device)) return {head_of(device), *blocker_of(head_of(device))};
  DOVETAIL_ASSERT(false);
}

OpId op_of(const Action& action, const MicrobatchOps& ops) {
  if (action.verb == Verb::forward) return ops.forward;
  return action.verb == Verb::weight_gradient ? ops.weight_gradient : ops.backward;
}

/// Times the actions of a complete file by earliest starts.
Status schedule_actions(const ActionFile& actions, const SlotTable& slots, const std::vector<DeviceId>& ranks,
                        const std::string& path, ScheduleFile& file) {
  const Problem& problem = file.schedule.problem;
  const Lowering lowering = lower(problem, slots.whole_backwards());
  Order order;
  order.devices.resize(static_cast<std::size_t>(problem.devices));
  file.places.resize(order.devices.size());
  file.device_places.resize(order.devices.size());
  for (std::size_t rank = 0; rank < std::min(ranks.size(), actions.rank_places.size()); ++rank)
    file.device_places[ranks[rank].index()] = actions.rank_places[rank];
  file.devices_place = {1, 1};
  for_each_action(actions, [&](const Action& action) {
    if (!is_compute(action.verb)) return;
    const std::size_t device = ranks[static_cast<std::size_t>(action.rank)].index();
    const MicrobatchOps& ops = lowering.ops(PipelineId(0), StageId(action.stage), MicrobatchId(action.microbatch));
    order.devices[device].push_back(op_of(action, ops));
    file.places[device].push_back(action.place);
  });
  const auto evaluation = evaluate(lowering.graph, order);
  if (!evaluation) {
    const auto [stuck, blocker] = find_deadlock(lowering.graph, order);
    const auto& row = order.devices[lowering.graph.device[stuck.index()].index()];
    const auto position = static_cast<std::size_t>(std::find(row.begin(), row.end(), stuck) - row.begin());
    return error_at(path, file.places[lowering.graph.device[stuck.index()].index()][position], Failure::invalid,
                    fmt::format("the order deadlocks: {} never starts, because it waits for {}, which never ends",
                                short_name(lowering.graph.labels[stuck.index()]),
                                short_name(lowering.graph.labels[blocker.index()])));
  }
  for (const auto& row : order.devices) {
    auto& ops = file.schedule.devices.emplace_back();
    for (const OpId op : row) {
      const Ticks start = evaluation->start[op.index()];
      ops.push_back({lowering.graph.labels[op.index()], start, start + lowering.graph.duration[op.index()]});
    }
  }
  return {};
}

Status check_csv_expressible(const Problem& problem) {
  if (pipelines_of(problem).size() != 1)
    return base::bad_input(
        fmt::format("a PyTorch CSV holds one pipeline, but the problem has {}", pipelines_of(problem).size()));
  if (const auto other = find_other_ops(problem, pass_kinds))
    return base::bad_input(fmt::format("{}, which a PyTorch CSV cannot express; use a problem without them", *other));
  return {};
}

/// Returns the device of each row: in the order in which the stages of a given problem visit them, or in row order for
/// an inferred problem.
std::vector<DeviceId> row_devices(const Problem& problem, bool inferred) {
  if (!inferred) return ranks_of(problem.models.front().replicas.front());
  std::vector<DeviceId> devices;
  for (int device = 0; device < problem.devices; ++device) devices.emplace_back(device);
  return devices;
}

std::vector<int> ranks_of_stages(const Model& model, const std::vector<DeviceId>& ranks) {
  std::map<DeviceId, int> rank_of;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) rank_of[ranks[rank]] = static_cast<int>(rank);
  std::vector<int> stage_ranks;
  for (const DeviceId device : model.replicas.front()) stage_ranks.push_back(rank_of.at(device));
  return stage_ranks;
}

std::string inference_note(const Problem& problem) {
  const Model& model = problem.models.front();
  return fmt::format(
      "the problem was inferred from the file: {} stages on {} ranks, {} micro-batches, F{} lasting one tick, B two, "
      "activation 1",
      model.stages(), problem.devices, model.microbatches, model.split() ? ", I and W" : "");
}

}  // namespace

Result<ScheduleFile> parse_pytorch_csv(std::string_view content, const std::string& path, const Problem* problem) {
  DOVETAIL_TRY(const ActionFile actions, parse_pytorch_actions(content, path));
  ScheduleFile file;
  file.notes.push_back(actions.dialect);
  if (problem) {
    DOVETAIL_CHECK(check_csv_expressible(*problem));
    file.schedule.problem = *problem;
  } else {
    DOVETAIL_TRY(file.schedule.problem, infer_problem(actions, path));
    file.notes.push_back(inference_note(file.schedule.problem));
  }
  const Model& model = file.schedule.problem.models.front();
  const std::vector<DeviceId> ranks = row_devices(file.schedule.problem, problem == nullptr);
  const std::vector<int> stage_ranks = ranks_of_stages(model, ranks);
  SlotTable slots(actions, path, model, stage_ranks);
  DOVETAIL_CHECK(slots.fill());
  bool communicates = false;
  for_each_action(actions, [&](const Action& action) {
    communicates = communicates || (action.verb != Verb::skipped && !is_compute(action.verb));
  });
  if (communicates) DOVETAIL_CHECK(CommunicationCheck(slots, path, model, stage_ranks).run());
  DOVETAIL_CHECK(schedule_actions(actions, slots, ranks, path, file));
  return file;
}

}  // namespace dovetail::pipeline
