#include "pipeline/program/compile.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/assert.h"
#include "base/hash.h"
#include "pipeline/problem/problem_file.h"
#include "pipeline/program/check.h"
#include "pipeline/program/rank_ops.h"

namespace dovetail::pipeline {
namespace {

using base::Result;
using base::Status;

/// A message and the op of the receiver that takes it.
struct Arrival {
  Message message;
  Ticks sent;            ///< end of the sender's op
  std::size_t consumer;  ///< receiver's op that takes it
};

/// A message and the op of the sender after which it is sent.
struct Departure {
  Message message;
  std::size_t producer;
};

struct RankMessages {
  std::vector<Arrival> arrivals;
  std::vector<Departure> departures;
};

/// Finds ops of a rank, to determine the op that takes a message.
class OpFinder {
 public:
  OpFinder(const Problem& problem, const RankWork& work) : work_(work) {
    for (const ProgramStage& stage : work.stages) {
      begin_.push_back(slots_.size());
      slots_.resize(slots_.size() +
                    2 * static_cast<std::size_t>(problem.models[stage.model.index()].total_microbatches()));
    }
    for (std::size_t op = 0; op < work.ops.size(); ++op) {
      const RankOp& own = work.ops[op];
      const OutputTo output = traits_of(own.label.kind).output;
      if (output != OutputTo::nowhere)
        slots_[slot(own.stage, output == OutputTo::next_stage, own.label.microbatch)] = op;
    }
  }

  int stage_index(const OpLabel& label) const {
    for (std::size_t i = 0; i < work_.stages.size(); ++i) {
      const ProgramStage& stage = work_.stages[i];
      if (std::tie(stage.model, stage.replica, stage.stage) == std::tie(label.model, label.replica, label.stage))
        return static_cast<int>(i);
    }
    return -1;
  }

  /// Returns the F (`forward`), or the B or I, of a micro-batch on a stage of the rank.
  std::size_t op(int stage, bool forward, MicrobatchId microbatch) const {
    return slots_[slot(stage, forward, microbatch)];
  }

 private:
  std::size_t slot(int stage, bool forward, MicrobatchId microbatch) const {
    return begin_[static_cast<std::size_t>(stage)] + 2 * microbatch.index() + (forward ? 1 : 0);
  }

  const RankWork& work_;
  std::vector<std::size_t> begin_;
  std::vector<std::size_t> slots_;
};

std::int64_t bytes_of(const Exchanges& exchanges, bool forward, int from, int to) {
  const std::vector<std::int64_t>& bytes = forward ? exchanges.forward_bytes : exchanges.backward_bytes;
  return bytes.empty() ? 0 : bytes[static_cast<std::size_t>(std::min(from, to))];
}

/// Returns the messages that each rank sends and receives, both in the order of the senders' ops.
std::vector<RankMessages> assign_messages(const Problem& problem, const Placement& placement,
                                          const std::vector<RankWork>& work, const std::vector<Exchanges>& exchanges) {
  std::vector<OpFinder> finders;
  for (const RankWork& own : work) finders.emplace_back(problem, own);
  std::vector<RankMessages> rank_messages(work.size());
  std::map<std::pair<int, int>, int> sent;
  for (std::size_t rank = 0; rank < work.size(); ++rank)
    for (std::size_t op = 0; op < work[rank].ops.size(); ++op) {
      const RankOp& own = work[rank].ops[op];
      const ModelPlacement& model = placement.models[own.label.model.index()];
      const auto target = output_stage(own.label.kind, own.label.stage.value, model.stages());
      if (!target) continue;
      const int peer = model.ranks[own.label.replica.index()][static_cast<std::size_t>(*target)]
                                  [static_cast<std::size_t>(own.member)];
      const int self = static_cast<int>(rank);
      if (peer == self) continue;
      const bool forward = traits_of(own.label.kind).output == OutputTo::next_stage;
      const std::int64_t bytes = bytes_of(exchanges[own.label.model.index()], forward, own.label.stage.value, *target);
      const int sequence = sent[{self, peer}]++;
      rank_messages[rank].departures.push_back({{peer, sequence, forward, own.stage, own.label.microbatch, bytes}, op});
      OpLabel consumer = own.label;
      consumer.stage = StageId(*target);
      const OpFinder& finder = finders[static_cast<std::size_t>(peer)];
      const int stage = finder.stage_index(consumer);
      rank_messages[static_cast<std::size_t>(peer)].arrivals.push_back(
          {{self, sequence, forward, stage, own.label.microbatch, bytes},
           own.end,
           finder.op(stage, forward, own.label.microbatch)});
    }
  return rank_messages;
}

/// Writes the instructions of one rank.
class RankCompiler {
 public:
  RankCompiler(const RankWork& work, const RankMessages& rank_messages, const std::vector<SharedReduction>& shared,
               const ReductionRules& rules, Program& program)
      : work_(work), rank_messages_(rank_messages), shared_(shared), rules_(rules), program_(program) {}

  void run() {
    program_.stages = work_.stages;
    place_receives();
    place_reductions();
    auto departure = rank_messages_.departures.begin();
    for (std::size_t op = 0; op < work_.ops.size(); ++op) {
      for (const std::size_t arrival : posted_before_[op]) post(arrival);
      if (taken_by_[op] >= 0) emit(Code::wait, message_index_[static_cast<std::size_t>(taken_by_[op])]);
      for (const int reduction : awaited_before_[op]) emit(Code::await, reduction);
      run_op(work_.ops[op]);
      for (; departure != rank_messages_.departures.end() && departure->producer == op; ++departure) {
        program_.messages.push_back(departure->message);
        emit(Code::send, static_cast<int>(program_.messages.size()) - 1);
      }
      for (const int reduction : started_after_[op]) emit(Code::reduce, reduction);
    }
    for (const int reduction : awaited_before_[work_.ops.size()]) emit(Code::await, reduction);
    program_.peak = peak_of(program_);
  }

 private:
  void emit(Code code, int target) { program_.code.push_back({code, OpKind::F, target, {}}); }

  void post(std::size_t arrival) {
    message_index_[arrival] = static_cast<int>(program_.messages.size());
    program_.messages.push_back(rank_messages_.arrivals[arrival].message);
    emit(Code::receive, message_index_[arrival]);
  }

  void run_op(const RankOp& op) {
    program_.code.push_back({Code::run, op.label.kind, op.stage, op.label.microbatch});
    if (ends_backward(op.label.kind)) program_.code.push_back({Code::free, OpKind::F, op.stage, op.label.microbatch});
  }

  /// Determines for each arrival the op before which its receive is posted.
  void place_receives() {
    const std::size_t arrivals = rank_messages_.arrivals.size();
    message_index_.assign(arrivals, -1);
    posted_before_.resize(work_.ops.size());
    taken_by_.assign(work_.ops.size(), -1);
    std::vector<std::size_t> place(arrivals);
    std::map<int, std::size_t> next_of_channel;
    for (std::size_t i = arrivals; i-- > 0;) {
      const Arrival& arrival = rank_messages_.arrivals[i];
      place[i] = std::min(last_op_before(arrival.sent), arrival.consumer);
      const auto [next, is_last] = next_of_channel.try_emplace(arrival.message.peer, place[i]);
      if (!is_last) place[i] = next->second = std::min(place[i], next->second);
      taken_by_[arrival.consumer] = static_cast<std::ptrdiff_t>(i);
    }
    for (std::size_t i = 0; i < arrivals; ++i) posted_before_[place[i]].push_back(i);
  }

  /// Returns the last op that starts before `time`, or the first op.
  std::size_t last_op_before(Ticks time) const {
    const auto not_before =
        std::partition_point(work_.ops.begin(), work_.ops.end(), [time](const RankOp& op) { return op.start < time; });
    return not_before == work_.ops.begin() ? 0 : static_cast<std::size_t>(not_before - work_.ops.begin()) - 1;
  }

  /// A reduction that the rank takes part in, and its place among the instructions.
  struct OwnReduction {
    std::size_t number;
    int stage = -1;
    std::size_t last_adding = 0;
    std::size_t first_needing;
  };

  /// Determines for each reduction of the rank the op after which it starts, and the op before which it is awaited.
  void place_reductions() {
    started_after_.resize(work_.ops.size());
    awaited_before_.resize(work_.ops.size() + 1);
    std::size_t not_before = 0;
    for (const OwnReduction& own : own_reductions()) {
      const SharedReduction& reduction = shared_[own.number];
      const int index = static_cast<int>(program_.reductions.size());
      program_.reductions.push_back({reduction.kind, reduction.model, reduction.minibatch,
                                     is_of_stage(reduction.kind) ? own.stage : -1, static_cast<int>(own.number),
                                     reduction.ranks});
      not_before = std::max(not_before, own.last_adding);
      started_after_[not_before].push_back(index);
      awaited_before_[own.first_needing].push_back(index);
    }
  }

  std::vector<OwnReduction> own_reductions() const {
    std::vector<OwnReduction> own;
    std::map<std::pair<ModelId, int>, std::vector<std::size_t>> of_minibatch;
    for (std::size_t number = 0; number < shared_.size(); ++number) {
      const SharedReduction& reduction = shared_[number];
      if (!std::binary_search(reduction.ranks.begin(), reduction.ranks.end(), program_.rank)) continue;
      of_minibatch[{reduction.model, reduction.minibatch}].push_back(own.size());
      own.push_back({.number = number, .first_needing = work_.ops.size()});
    }
    for (std::size_t op = 0; op < work_.ops.size(); ++op) {
      const OpLabel& label = work_.ops[op].label;
      // An op depends on the reductions in its mini-batch, and a forward on the weights of the previous one.
      const int minibatch = rules_.minibatch_of(label);
      for (const int k : {minibatch - 1, minibatch}) {
        const auto found = of_minibatch.find({label.model, k});
        if (found == of_minibatch.end()) continue;
        for (const std::size_t i : found->second) note(own[i], op);
      }
    }
    return own;
  }

  void note(OwnReduction& own, std::size_t op) const {
    const RankOp& rank_op = work_.ops[op];
    if (rules_.adds(rank_op.label, shared_[own.number])) {
      own.last_adding = op;
      own.stage = rank_op.stage;
    }
    if (rules_.needs(rank_op.label, shared_[own.number])) own.first_needing = std::min(own.first_needing, op);
  }

  const RankWork& work_;
  const RankMessages& rank_messages_;
  const std::vector<SharedReduction>& shared_;
  const ReductionRules& rules_;
  Program& program_;
  std::vector<std::vector<std::size_t>> posted_before_;  ///< [op] arrivals
  std::vector<std::ptrdiff_t> taken_by_;                 ///< [op] arrival that it takes, or -1
  std::vector<int> message_index_;                       ///< [arrival] index into the messages of the program
  std::vector<std::vector<int>> started_after_;          ///< [op] reductions of the rank
  std::vector<std::vector<int>> awaited_before_;         ///< [op], plus an entry for the end
};

Status check_exchanges(const Model& model, const ModelPlacement& placement, const Exchanges& exchanges) {
  const bool one_replica = placement.replicas() == 1;
  const bool one_stage = placement.stages() == 1;
  if (exchanges.clips_by_norm && model.has_steps() && model.step_after == StepAfter::stage &&
      !(one_replica && one_stage))
    return base::bad_input(fmt::format(
        "model {} clips by the norm of all gradients, but its steps wait for one stage only; set `step_after: model`",
        model.name));
  if (exchanges.tied && model.has_steps() && model.step_after == StepAfter::stage && !one_stage)
    return base::bad_input(
        fmt::format("model {} ties a weight of its first and last stage, but its steps wait for one stage only; set "
                    "`step_after: model`",
                    model.name));
  if (exchanges.shards_steps && model.has_steps() && model.step_before == StepBefore::own && !one_replica)
    return base::bad_input(
        fmt::format("model {} gathers weights from all replicas, but its forwards wait for their own replica only; set "
                    "`step_before: replicas`",
                    model.name));
  const auto boundaries = static_cast<std::size_t>(placement.stages()) - 1;
  for (const auto* bytes : {&exchanges.forward_bytes, &exchanges.backward_bytes})
    if (!bytes->empty() && bytes->size() != boundaries)
      return base::bad_input(fmt::format("model {} has message sizes for {} boundaries; it must have {}", model.name,
                                         bytes->size(), boundaries));
  return {};
}

}  // namespace

std::vector<Exchanges> exchanges_of(const Problem& problem) {
  std::vector<Exchanges> exchanges(problem.models.size());
  for (std::size_t m = 0; m < problem.models.size(); ++m) {
    exchanges[m].clips_by_norm = problem.models[m].step_after == StepAfter::model;
    exchanges[m].shards_steps = problem.models[m].step_before == StepBefore::replicas;
  }
  return exchanges;
}

Result<std::vector<Program>> compile(const Schedule& schedule, const Placement& placement,
                                     const std::vector<Exchanges>& exchanges) {
  const Problem& problem = schedule.problem;
  DOVETAIL_CHECK(check_placement(problem, placement));
  if (exchanges.size() != problem.models.size())
    return base::bad_input(
        fmt::format("exchanges are given for {} models; the problem has {}", exchanges.size(), problem.models.size()));
  for (std::size_t m = 0; m < problem.models.size(); ++m)
    DOVETAIL_CHECK(check_exchanges(problem.models[m], placement.models[m], exchanges[m]));
  const std::vector<RankWork> work = work_of_ranks(schedule, placement);
  const std::vector<RankMessages> rank_messages = assign_messages(problem, placement, work, exchanges);
  const std::vector<SharedReduction> shared = reductions_of(schedule, placement, exchanges);
  const ReductionRules rules(problem, placement);
  std::vector<ProgramModel> models;
  for (std::size_t m = 0; m < problem.models.size(); ++m) {
    const Model& model = problem.models[m];
    models.push_back({model.name, model.microbatches, model.minibatches, placement.models[m].replicas(),
                      placement.models[m].stages(), model.has_steps()});
  }
  const std::string hash = base::sha256_hex(base::canonical_json(problem_to_json(problem, 0)));
  std::vector<Program> programs(work.size());
  for (std::size_t rank = 0; rank < work.size(); ++rank) {
    programs[rank].rank = static_cast<int>(rank);
    programs[rank].ranks = placement.ranks;
    programs[rank].problem = hash;
    programs[rank].models = models;
    RankCompiler(work[rank], rank_messages[rank], shared, rules, programs[rank]).run();
  }
  return programs;
}

base::Result<std::vector<Program>> sound_programs(const Schedule& schedule, const Placement& placement) {
  DOVETAIL_TRY(std::vector<Program> programs, compile(schedule, placement, exchanges_of(schedule.problem)));
  for (const Delivery delivery : deliveries) DOVETAIL_ASSERT(!check(programs, delivery));
  return programs;
}

}  // namespace dovetail::pipeline
