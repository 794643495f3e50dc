#include "pipeline/program/program.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace dovetail::pipeline {
namespace {

/// Tracks what is held from instruction to instruction.
class Holdings {
 public:
  explicit Holdings(const Program& program) : program_(program) {}

  void follow(const Instruction& instruction) {
    if (instruction.code == Code::receive) arrive(program_.messages[static_cast<std::size_t>(instruction.target)]);
    if (instruction.code == Code::run) run(instruction);
    if (instruction.code == Code::free) held_ -= kept_of(instruction);
  }

  const ProgramPeak& peak() const { return peak_; }

 private:
  using Key = std::tuple<int, bool, MicrobatchId>;

  void arrive(const Message& message) {
    arrived_[{message.stage, message.forward, message.microbatch}] = message.bytes;
    bytes_ += message.bytes;
    peak_.arrived = std::max(peak_.arrived, static_cast<int>(arrived_.size()));
    peak_.bytes = std::max(peak_.bytes, bytes_);
  }

  void run(const Instruction& op) {
    const OutputTo output = traits_of(op.op).output;
    if (const auto taken = arrived_.find({op.target, output == OutputTo::next_stage, op.microbatch});
        output != OutputTo::nowhere && taken != arrived_.end()) {
      bytes_ -= taken->second;
      arrived_.erase(taken);
    }
    const ProgramStage& stage = program_.stages[static_cast<std::size_t>(op.target)];
    if (op.op == OpKind::F) held_ += stage.activation;
    if (op.op == OpKind::I) {
      held_ -= stage.activation - stage.weight_activation;
      split_.insert({op.target, op.microbatch});
    }
    peak_.activation = std::max(peak_.activation, held_);
  }

  /// Returns the memory that a micro-batch still holds when it is freed.
  Memory kept_of(const Instruction& free) {
    const ProgramStage& stage = program_.stages[static_cast<std::size_t>(free.target)];
    return split_.erase({free.target, free.microbatch}) > 0 ? stage.weight_activation : stage.activation;
  }

  const Program& program_;
  std::map<Key, std::int64_t> arrived_;           ///< bytes of messages that are posted and not yet taken
  std::set<std::pair<int, MicrobatchId>> split_;  ///< between I and W
  std::int64_t bytes_ = 0;
  Memory held_;
  ProgramPeak peak_;
};

}  // namespace

bool takes_input(const Program& program, const Instruction& op) {
  const ProgramStage& own = program.stages[static_cast<std::size_t>(op.target)];
  return input_stage(op.op, own.stage.value, program.models[own.model.index()].stages).has_value();
}

bool makes_output(const Program& program, const Instruction& op) {
  const ProgramStage& own = program.stages[static_cast<std::size_t>(op.target)];
  return output_stage(op.op, own.stage.value, program.models[own.model.index()].stages).has_value();
}

std::optional<int> local_consumer(const Program& program, const Instruction& op) {
  const ProgramStage& own = program.stages[static_cast<std::size_t>(op.target)];
  const auto target = output_stage(op.op, own.stage.value, program.models[own.model.index()].stages);
  // Ranks with the same index in two stages exchange outputs.
  const auto member =
      static_cast<std::size_t>(std::find(own.ranks.begin(), own.ranks.end(), program.rank) - own.ranks.begin());
  for (std::size_t i = 0; i < program.stages.size(); ++i) {
    const ProgramStage& other = program.stages[i];
    if (other.model == own.model && other.replica == own.replica && other.stage.value == target &&
        member < other.ranks.size() && other.ranks[member] == program.rank)
      return static_cast<int>(i);
  }
  return std::nullopt;
}

ProgramPeak peak_of(const Program& program) {
  Holdings holdings(program);
  for (const Instruction& instruction : program.code) holdings.follow(instruction);
  return holdings.peak();
}

std::string describe(const Program& program, int stage, char letter, MicrobatchId microbatch) {
  const ProgramStage& own = program.stages[static_cast<std::size_t>(stage)];
  const ProgramModel& model = program.models[own.model.index()];
  const std::string name = model.replicas == 1 ? model.name : fmt::format("{}/{}", model.name, own.replica.value);
  return fmt::format("{}{} of {} stage {}", letter, microbatch.value, name, own.stage.value);
}

}  // namespace dovetail::pipeline
