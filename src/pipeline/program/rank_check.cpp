#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "pipeline/program/check.h"

namespace dovetail::pipeline {
namespace {

using FaultText = std::optional<std::string>;

/// Progress of a micro-batch on a stage.
enum class Phase : std::uint8_t { waiting, forward, split, done, freed };

/// Follows one program, instruction by instruction.
class RankChecker {
 public:
  explicit RankChecker(const Program& program)
      : program_(program),
        phases_(program.stages.size()),
        steps_(program.stages.size()),
        messages_(program.messages.size()),
        reductions_(program.reductions.size()) {
    for (std::size_t s = 0; s < phases_.size(); ++s)
      phases_[s].assign(static_cast<std::size_t>(total_microbatches(model_of(s))), Phase::waiting);
  }

  std::optional<ProgramFault> run() {
    for (std::size_t i = 0; i < program_.code.size(); ++i)
      if (FaultText fault = follow(program_.code[i])) return ProgramFault{*fault, program_.rank, i};
    if (FaultText fault = find_unfinished()) return ProgramFault{*fault, program_.rank, std::nullopt};
    return std::nullopt;
  }

 private:
  enum class Use : std::uint8_t { none, begun, ended };
  using Item = std::tuple<int, bool, MicrobatchId>;  ///< stage, activation (true) or gradient, micro-batch

  static int total_microbatches(const ProgramModel& model) { return model.microbatches * model.minibatches; }
  const ProgramStage& stage_of(std::size_t stage) const { return program_.stages[stage]; }
  const ProgramModel& model_of(std::size_t stage) const { return program_.models[stage_of(stage).model.index()]; }
  Phase& phase_of(const Instruction& op) { return phases_[static_cast<std::size_t>(op.target)][op.microbatch.index()]; }
  std::string text(const Instruction& op) const {
    return describe(program_, op.target, letter_of(op.op), op.microbatch);
  }
  std::string text(const Message& message) const {
    return fmt::format("the {} of {}", message.forward ? "activation" : "gradient",
                       describe(program_, message.stage, message.forward ? 'F' : 'B', message.microbatch));
  }
  std::string text(const Reduction& reduction) const {
    return fmt::format("the {} reduction of mini-batch {} of {}", base::enum_name(reduction.kind), reduction.minibatch,
                       program_.models[reduction.model.index()].name);
  }

  FaultText follow(const Instruction& instruction) {
    const auto target = static_cast<std::size_t>(instruction.target);
    switch (instruction.code) {
      case Code::receive:
        return post(target);
      case Code::wait:
        return wait(target);
      case Code::run:
        return run_op(instruction);
      case Code::send:
        return send(target);
      case Code::free:
        return free(instruction);
      case Code::reduce:
        return reduce(target);
      case Code::await:
        break;
    }
    return await(target);
  }

  FaultText post(std::size_t index) {
    const Message& message = program_.messages[index];
    if (messages_[index] != Use::none) return fmt::format("{} is posted twice", text(message));
    messages_[index] = Use::begun;
    int& next = next_receive_[message.peer];
    if (message.sequence != next)
      return fmt::format("{} is posted out of order: it is message {} from rank {}, but {} is next", text(message),
                         message.sequence, message.peer, next);
    ++next;
    return std::nullopt;
  }

  FaultText wait(std::size_t index) {
    const Message& message = program_.messages[index];
    if (messages_[index] != Use::begun)
      return fmt::format("{} is waited for {}", text(message),
                         messages_[index] == Use::none ? "before its receive is posted" : "twice");
    messages_[index] = Use::ended;
    inputs_.insert({message.stage, message.forward, message.microbatch});
    return std::nullopt;
  }

  FaultText send(std::size_t index) {
    const Message& message = program_.messages[index];
    if (outputs_.erase({message.stage, message.forward, message.microbatch}) == 0)
      return fmt::format("{} is sent {}", text(message), messages_[index] == Use::none ? "before it is made" : "twice");
    messages_[index] = Use::ended;
    int& next = next_send_[message.peer];
    if (message.sequence != next)
      return fmt::format("{} is sent out of order: it is message {} to rank {}, but {} is next", text(message),
                         message.sequence, message.peer, next);
    ++next;
    return std::nullopt;
  }

  FaultText run_op(const Instruction& op) {
    if (op.op == OpKind::S) return step(op);
    Phase& phase = phase_of(op);
    const bool starts = op.op == OpKind::F;
    const Phase needed = starts ? Phase::waiting : op.op == OpKind::W ? Phase::split : Phase::forward;
    if (phase != needed)
      return fmt::format("{} runs {}", text(op),
                         phase < needed ? "before an op that it needs" : "again, or after its memory is freed");
    if (FaultText fault = starts ? find_missing_weights(op) : std::nullopt) return fault;
    phase = starts ? Phase::forward : op.op == OpKind::I ? Phase::split : Phase::done;
    if (FaultText fault = take_input(op)) return fault;
    hand_on(op);
    return std::nullopt;
  }

  FaultText take_input(const Instruction& op) {
    if (!takes_input(program_, op) || inputs_.erase({op.target, op.op == OpKind::F, op.microbatch}) > 0)
      return std::nullopt;
    return fmt::format("{} runs before its input has arrived", text(op));
  }

  /// Passes the output of an op to the next stage of this rank, or to the messages to be sent.
  void hand_on(const Instruction& op) {
    if (!makes_output(program_, op)) return;
    const auto consumer = local_consumer(program_, op);
    (consumer ? inputs_ : outputs_).insert({consumer.value_or(op.target), op.op == OpKind::F, op.microbatch});
  }

  FaultText free(const Instruction& instruction) {
    Phase& phase = phase_of(instruction);
    if (phase != Phase::done)
      return fmt::format("the memory of {} is freed {}",
                         describe(program_, instruction.target, 'F', instruction.microbatch),
                         phase == Phase::freed ? "twice" : "before its backward has ended");
    phase = Phase::freed;
    return std::nullopt;
  }

  /// Whether all micro-batches of a mini-batch have ended on a stage.
  bool has_gradients(std::size_t stage, int minibatch) const {
    const int count = model_of(stage).microbatches;
    const auto begin = phases_[stage].begin() + std::ptrdiff_t{minibatch} * count;
    return std::all_of(begin, begin + count, [](Phase phase) { return phase >= Phase::done; });
  }

  /// Whether `visit(stage)` holds for each of the rank's stages of a model.
  template <class Visit>
  bool all_stages(ModelId model, Visit visit) const {
    for (std::size_t s = 0; s < program_.stages.size(); ++s)
      if (stage_of(s).model == model && !visit(s)) return false;
    return true;
  }

  bool is_at_end(std::size_t stage) const {
    return stage_of(stage).stage.value == 0 || stage_of(stage).stage.value + 1 == model_of(stage).stages;
  }

  /// Whether a reduction covers the gradients or weights of a stage.
  bool concerns(const Reduction& reduction, std::size_t stage) const {
    if (reduction.model != stage_of(stage).model) return false;
    if (reduction.kind == ReductionKind::norm) return true;
    if (reduction.kind == ReductionKind::tied) return is_at_end(stage);
    return stage_of(static_cast<std::size_t>(reduction.stage)).stage == stage_of(stage).stage;
  }

  FaultText step(const Instruction& op) {
    const auto stage = static_cast<std::size_t>(op.target);
    const int minibatch = op.microbatch.value;
    if (minibatch != steps_[stage]) return fmt::format("{} runs, but step {} is next", text(op), steps_[stage]);
    const bool complete = all_stages(stage_of(stage).model, [&](std::size_t other) {
      return stage_of(other).stage != stage_of(stage).stage || has_gradients(other, minibatch);
    });
    if (!complete) return fmt::format("{} runs before all gradients of its mini-batch are ready", text(op));
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
      const Reduction& reduction = program_.reductions[i];
      const bool before = reduction.kind != ReductionKind::weights && reduction.minibatch == minibatch;
      if (before && concerns(reduction, stage) && reductions_[i] != Use::ended)
        return fmt::format("{} runs before it has awaited {}", text(op), text(reduction));
    }
    ++steps_[stage];
    return std::nullopt;
  }

  /// Explains why the weights that a forward needs are not ready; nullopt if they are.
  FaultText find_missing_weights(const Instruction& op) const {
    const auto stage = static_cast<std::size_t>(op.target);
    const int minibatch = op.microbatch.value / model_of(stage).microbatches;
    if (!model_of(stage).has_steps || minibatch == 0) return std::nullopt;
    if (steps_[stage] != minibatch)
      return steps_[stage] < minibatch ? fmt::format("{} runs before step {}", text(op), minibatch - 1)
                                       : fmt::format("{} runs after step {}", text(op), minibatch);
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
      const Reduction& reduction = program_.reductions[i];
      if (reduction.kind == ReductionKind::weights && reduction.minibatch == minibatch - 1 &&
          concerns(reduction, stage) && reductions_[i] != Use::ended)
        return fmt::format("{} runs before it has awaited {}", text(op), text(reduction));
    }
    return std::nullopt;
  }

  FaultText reduce(std::size_t index) {
    const Reduction& reduction = program_.reductions[index];
    if (reductions_[index] != Use::none) return fmt::format("{} starts twice", text(reduction));
    if (reduction.number <= last_number_)
      return fmt::format("{} starts out of order: it is reduction {}, but reduction {} has already started",
                         text(reduction), reduction.number, last_number_);
    const bool complete = all_stages(reduction.model, [&](std::size_t stage) {
      if (!concerns(reduction, stage)) return true;
      return reduction.kind == ReductionKind::weights ? steps_[stage] > reduction.minibatch
                                                      : has_gradients(stage, reduction.minibatch);
    });
    if (!complete) return fmt::format("{} starts before all contributions of the rank are ready", text(reduction));
    if (reduction.kind == ReductionKind::norm)
      for (std::size_t i = 0; i < reductions_.size(); ++i)
        if (is_before_norm(program_.reductions[i], reduction) && reductions_[i] == Use::none)
          return fmt::format("{} starts before {}", text(reduction), text(program_.reductions[i]));
    last_number_ = reduction.number;
    reductions_[index] = Use::begun;
    return std::nullopt;
  }

  static bool is_before_norm(const Reduction& reduction, const Reduction& norm) {
    const bool sums = reduction.kind == ReductionKind::gradients || reduction.kind == ReductionKind::tied;
    return sums && reduction.model == norm.model && reduction.minibatch == norm.minibatch;
  }

  FaultText await(std::size_t index) {
    if (reductions_[index] != Use::begun)
      return fmt::format("{} is awaited {}", text(program_.reductions[index]),
                         reductions_[index] == Use::none ? "before it starts" : "twice");
    reductions_[index] = Use::ended;
    return std::nullopt;
  }

  FaultText find_unfinished() const {
    for (std::size_t s = 0; s < phases_.size(); ++s) {
      for (std::size_t m = 0; m < phases_[s].size(); ++m)
        if (phases_[s][m] != Phase::freed)
          return fmt::format("{} {}", describe(program_, static_cast<int>(s), 'F', MicrobatchId(m)),
                             phases_[s][m] == Phase::done ? "is never freed" : "never ends its backward");
      if (model_of(s).has_steps && steps_[s] != model_of(s).minibatches)
        return fmt::format("{} never runs", describe(program_, static_cast<int>(s), 'S', MicrobatchId(steps_[s])));
    }
    for (std::size_t i = 0; i < messages_.size(); ++i)
      if (messages_[i] != Use::ended) return text(program_.messages[i]) + " is never sent or waited for";
    if (!outputs_.empty()) {
      const auto& [stage, forward, microbatch] = *outputs_.begin();
      return fmt::format("the output of {} is never sent", describe(program_, stage, forward ? 'F' : 'B', microbatch));
    }
    for (std::size_t i = 0; i < reductions_.size(); ++i)
      if (reductions_[i] != Use::ended)
        return fmt::format("{} never {}", text(program_.reductions[i]),
                           reductions_[i] == Use::none ? "starts" : "is awaited");
    if (peak_of(program_) != program_.peak) return "the stated peaks do not match the instructions";
    return std::nullopt;
  }

  const Program& program_;
  std::vector<std::vector<Phase>> phases_;  ///< [stage][micro-batch]
  std::vector<int> steps_;                  ///< [stage] number of steps done
  std::vector<Use> messages_;
  std::vector<Use> reductions_;
  std::set<Item> inputs_;   ///< inputs that have arrived and are not yet taken
  std::set<Item> outputs_;  ///< outputs made for another rank and not yet sent
  std::map<int, int> next_receive_;
  std::map<int, int> next_send_;
  int last_number_ = -1;
};

bool is_in(std::int64_t value, std::size_t count) { return value >= 0 && static_cast<std::size_t>(value) < count; }

FaultText find_table_fault(const Program& program) {
  std::int64_t held = 0;
  std::int64_t slots = 0;
  for (const ProgramStage& stage : program.stages) {
    if (!is_in(stage.model.value, program.models.size())) return "a stage refers to a model that does not exist";
    const ProgramModel& model = program.models[stage.model.index()];
    if (!is_in(stage.replica.value, static_cast<std::size_t>(model.replicas)) ||
        !is_in(stage.stage.value, static_cast<std::size_t>(model.stages)))
      return fmt::format("a stage refers to a stage or replica of {} that does not exist", model.name);
    if (std::find(stage.ranks.begin(), stage.ranks.end(), program.rank) == stage.ranks.end())
      return fmt::format("stage {} of {} does not list this rank", stage.stage.value, model.name);
    const std::int64_t microbatches = std::int64_t{model.microbatches} * model.minibatches;
    if (stage.weight_activation > stage.activation || stage.activation.count() > (max_sum - held) / microbatches)
      return fmt::format("stage {} of {} has an activation or weight_activation that is too large", stage.stage.value,
                         model.name);
    held += stage.activation.count() * microbatches;
    slots += microbatches;
    if (slots > max_op_count)
      return fmt::format("the program has more than {} micro-batches on its stages", max_op_count);
  }
  const auto microbatches = [&](int stage, bool step) {
    const ProgramModel& model = program.models[program.stages[static_cast<std::size_t>(stage)].model.index()];
    return static_cast<std::size_t>(step ? model.minibatches : model.minibatches * model.microbatches);
  };
  std::int64_t bytes = 0;
  for (const Message& message : program.messages) {
    if (!is_in(message.peer, static_cast<std::size_t>(program.ranks)) || message.peer == program.rank ||
        !is_in(message.stage, program.stages.size()) ||
        !is_in(message.microbatch.value, microbatches(message.stage, false)))
      return "a message refers to a peer, a stage or a micro-batch that does not exist";
    if (message.bytes > max_sum - bytes) return "the messages of the program have too many bytes to add up";
    bytes += message.bytes;
  }
  for (const Reduction& reduction : program.reductions) {
    if (!is_in(reduction.model.value, program.models.size()) ||
        !is_in(reduction.minibatch, static_cast<std::size_t>(program.models[reduction.model.index()].minibatches)) ||
        (is_of_stage(reduction.kind) && !is_in(reduction.stage, program.stages.size())))
      return "a reduction refers to a model, a mini-batch or a stage that does not exist";
    if (std::find(reduction.ranks.begin(), reduction.ranks.end(), program.rank) == reduction.ranks.end())
      return "a reduction does not list this rank";
  }
  return std::nullopt;
}

bool has_target(const Program& program, const Instruction& instruction) {
  const bool of_message =
      instruction.code == Code::receive || instruction.code == Code::wait || instruction.code == Code::send;
  if (of_message) return is_in(instruction.target, program.messages.size());
  if (instruction.code == Code::reduce || instruction.code == Code::await)
    return is_in(instruction.target, program.reductions.size());
  if (!is_in(instruction.target, program.stages.size())) return false;
  const ProgramModel& model =
      program.models[program.stages[static_cast<std::size_t>(instruction.target)].model.index()];
  const bool step = instruction.code == Code::run && traits_of(instruction.op).per_minibatch;
  return is_in(instruction.microbatch.value,
               static_cast<std::size_t>(step ? model.minibatches : model.minibatches * model.microbatches));
}

}  // namespace

std::optional<ProgramFault> check_tables(const Program& program) {
  if (FaultText fault = find_table_fault(program)) return ProgramFault{*fault, program.rank, std::nullopt};
  for (std::size_t i = 0; i < program.code.size(); ++i)
    if (!has_target(program, program.code[i]))
      return ProgramFault{"the target of the instruction does not exist", program.rank, i};
  return std::nullopt;
}

std::optional<ProgramFault> check_rank(const Program& program) { return RankChecker(program).run(); }

}  // namespace dovetail::pipeline
