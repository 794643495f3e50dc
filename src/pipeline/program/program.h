// Rank programs: a schedule compiled to what each rank computes, sends, receives, reduces and frees, in which order.
// An interpreter runs the instructions one after the other; only `wait` and `await` hold it up.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.h"
#include "base/quantity.h"
#include "pipeline/problem/op_kind.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// What an instruction does with what it points at.
enum class Code : std::uint8_t {
  receive,  ///< posts a message's receive
  wait,     ///< until that message is there
  run,      ///< computes an op
  send,     ///< hands a message over, without waiting
  free,     ///< gives back what a stage holds of a micro-batch
  reduce,   ///< starts a reduction, without waiting
  await,    ///< until that reduction is done
};
constexpr auto names_of(Code) {
  return std::array{base::EnumName{"receive", Code::receive}, base::EnumName{"wait", Code::wait},
                    base::EnumName{"run", Code::run},         base::EnumName{"send", Code::send},
                    base::EnumName{"free", Code::free},       base::EnumName{"reduce", Code::reduce},
                    base::EnumName{"await", Code::await}};
}

/// What a model's ranks do together between the last backward of a mini-batch and the first forward of the next. On
/// each rank they are carried out one after the other, in the order in which they start.
enum class ReductionKind : std::uint8_t {
  gradients,  ///< the sum over the replicas of a stage
  tied,       ///< the sum of a weight's gradients at the first and the last stage, over all replicas
  norm,       ///< of all gradients of the model, for clipping; also whether any is not finite
  weights,    ///< each replica's share of a stage's new weights, to all of them (ZeRO-1)
};
constexpr auto names_of(ReductionKind) {
  return std::array{base::EnumName{"gradients", ReductionKind::gradients}, base::EnumName{"tied", ReductionKind::tied},
                    base::EnumName{"norm", ReductionKind::norm}, base::EnumName{"weights", ReductionKind::weights}};
}
/// Whether it is of one stage, not of the whole model.
constexpr bool is_of_stage(ReductionKind kind) {
  return kind == ReductionKind::gradients || kind == ReductionKind::weights;
}

/// A stage that a rank computes, of one replica of one model; stages and replicas as the ranks have them.
struct ProgramStage {
  ModelId model;
  ReplicaId replica;
  StageId stage;
  Memory activation;         ///< held of a micro-batch from F on
  Memory weight_activation;  ///< of it, what is held between I and W
  std::vector<int> ranks;    ///< that compute it together, this one among them

  friend bool operator==(const ProgramStage&, const ProgramStage&) = default;
};

/// A micro-batch's activation on its way to the next stage, or its gradient on its way to the previous one.
struct Message {
  int peer = 0;         ///< the rank at the other end
  int sequence = 0;     ///< its place among the messages from one rank to another
  bool forward = true;  ///< an activation
  int stage = 0;        ///< this rank's, that makes or takes it, into Program::stages
  MicrobatchId microbatch;
  std::int64_t bytes = 0;  ///< 0 where nobody said

  friend bool operator==(const Message&, const Message&) = default;
};

/// A reduction that this rank takes part in.
struct Reduction {
  ReductionKind kind = ReductionKind::gradients;
  ModelId model;
  int minibatch = 0;
  int stage = -1;  ///< into Program::stages, of `gradients` and `weights`: one of the rank's replicas of that stage
  int number = 0;  ///< its place among the reductions of all ranks, in which all of them start
  std::vector<int> ranks;

  friend bool operator==(const Reduction&, const Reduction&) = default;
};

/// One instruction. `target` is the index of a message, a reduction, or a stage (run, free).
struct Instruction {
  Code code = Code::run;
  OpKind op = OpKind::F;  ///< of `run`
  int target = 0;
  MicrobatchId microbatch;  ///< of `run` and `free`; the mini-batch of S

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

/// What a rank's program holds at most, whatever the times are.
struct ProgramPeak {
  Memory activation;       ///< of micro-batches between F and the last of their backward, in the problem's unit
  int arrived = 0;         ///< messages whose receive is posted and whose op has not begun
  std::int64_t bytes = 0;  ///< of these

  friend bool operator==(const ProgramPeak&, const ProgramPeak&) = default;
};

/// The part of a model that is the same for all ranks.
struct ProgramModel {
  std::string name;
  int microbatches = 1;  ///< per mini-batch and replica
  int minibatches = 1;
  int replicas = 1;
  int stages = 1;
  bool has_steps = false;

  friend bool operator==(const ProgramModel&, const ProgramModel&) = default;
};

/// All that one rank does.
struct Program {
  int rank = 0;
  int ranks = 1;
  std::string problem;  ///< the SHA-256 of its canonical JSON
  std::vector<ProgramModel> models;
  std::vector<ProgramStage> stages;
  std::vector<Message> messages;
  std::vector<Reduction> reductions;
  std::vector<Instruction> code;
  ProgramPeak peak;

  friend bool operator==(const Program&, const Program&) = default;
};

/// Whether an op of the program takes what a neighbour made, and whether it makes something for one.
bool takes_input(const Program& program, const Instruction& op);
bool makes_output(const Program& program, const Instruction& op);
/// The rank's own stage that takes what an op makes; nothing where another rank does. REQUIRES: it makes something.
std::optional<int> local_taker(const Program& program, const Instruction& op);

/// What a program's instructions hold at most.
ProgramPeak peak_of(const Program& program);

/// "F3 of actor/0 stage 1": an op of one of the program's stages in words.
std::string describe(const Program& program, int stage, char letter, MicrobatchId microbatch);

}  // namespace dovetail::pipeline
