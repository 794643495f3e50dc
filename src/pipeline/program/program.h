// Rank programs: for each rank, the instructions to compute, send, receive, reduce and free, compiled from a schedule.
// An interpreter runs the instructions one after the other; only `wait` and `await` block. Files are in the format
// dovetail/program@1, one per rank.
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
#include "pipeline/problem/op_kind.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// Operation of an instruction.
enum class Code : std::uint8_t {
  receive,  ///< posts the receive of a message
  wait,     ///< waits until the message has arrived
  run,      ///< computes an op
  send,     ///< sends a message, without waiting
  free,     ///< frees the memory that a stage holds for a micro-batch
  reduce,   ///< starts a reduction, without waiting
  await,    ///< waits until the reduction is done
};
constexpr auto names_of(Code) {
  return std::array{base::EnumName{"receive", Code::receive}, base::EnumName{"wait", Code::wait},
                    base::EnumName{"run", Code::run},         base::EnumName{"send", Code::send},
                    base::EnumName{"free", Code::free},       base::EnumName{"reduce", Code::reduce},
                    base::EnumName{"await", Code::await}};
}

/// Kind of reduction: a collective operation among a model's ranks between the last backward of a mini-batch and the
/// first forward of the next. Each rank carries out its reductions one at a time, in the order in which they start.
enum class ReductionKind : std::uint8_t {
  gradients,  ///< sum over the replicas of a stage
  tied,       ///< sum of the gradients of a weight at the first and the last stage, over all replicas
  norm,       ///< norm of all gradients of the model, for clipping; also detects values that are not finite
  weights,    ///< gathers the new weights of a stage, of which each replica has a share (ZeRO-1)
};
constexpr auto names_of(ReductionKind) {
  return std::array{base::EnumName{"gradients", ReductionKind::gradients}, base::EnumName{"tied", ReductionKind::tied},
                    base::EnumName{"norm", ReductionKind::norm}, base::EnumName{"weights", ReductionKind::weights}};
}
/// Whether the reduction belongs to one stage, not to the whole model.
constexpr bool is_of_stage(ReductionKind kind) {
  return kind == ReductionKind::gradients || kind == ReductionKind::weights;
}

/// A stage that a rank computes, in one replica of one model. Stages and replicas are numbered as in ModelPlacement.
struct ProgramStage {
  ModelId model;
  ReplicaId replica;
  StageId stage;
  Memory activation;         ///< activation held for a micro-batch from F on
  Memory weight_activation;  ///< share of `activation` that is held between I and W
  std::vector<int> ranks;    ///< ranks that compute the stage together, including this one

  friend bool operator==(const ProgramStage&, const ProgramStage&) = default;
};

/// A message of a micro-batch: an activation sent to the next stage, or a gradient sent to the previous one.
struct Message {
  int peer = 0;         ///< rank at the other end
  int sequence = 0;     ///< index among all messages from the same sender to the same receiver
  bool forward = true;  ///< true: an activation; false: a gradient
  int stage = 0;        ///< index into Program::stages of the stage that makes or takes it
  MicrobatchId microbatch;
  std::int64_t bytes = 0;  ///< 0 if unknown

  friend bool operator==(const Message&, const Message&) = default;
};

/// A reduction that this rank takes part in.
struct Reduction {
  ReductionKind kind = ReductionKind::gradients;
  ModelId model;
  int minibatch = 0;
  int stage = -1;  ///< for `gradients` and `weights`: index into Program::stages of the stage, in one of its replicas
  int number = 0;  ///< index among the reductions of all ranks; each rank starts its own in this order
  std::vector<int> ranks;

  friend bool operator==(const Reduction&, const Reduction&) = default;
};

/// One instruction. `target` is the index of a message (receive, wait, send), a stage (run, free) or a reduction
/// (reduce, await).
struct Instruction {
  Code code = Code::run;
  OpKind op = OpKind::F;  ///< kind of op of `run`
  int target = 0;
  MicrobatchId microbatch;  ///< micro-batch of `run` and `free`; for S, the mini-batch

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

/// Maximum memory and messages that the program of a rank holds at any time, regardless of durations.
struct ProgramPeak {
  /// Activation of micro-batches between F and the end of their backward, in the unit of the problem.
  Memory activation;
  int arrived = 0;         ///< messages whose receive is posted and whose op has not started
  std::int64_t bytes = 0;  ///< bytes of these messages

  friend bool operator==(const ProgramPeak&, const ProgramPeak&) = default;
};

/// Properties of a model that are the same for all ranks.
struct ProgramModel {
  std::string name;
  int microbatches = 1;  ///< per mini-batch and replica
  int minibatches = 1;
  int replicas = 1;
  int stages = 1;
  bool has_steps = false;

  friend bool operator==(const ProgramModel&, const ProgramModel&) = default;
};

/// Program of one rank: its instructions, and the tables that they refer to.
struct Program {
  int rank = 0;
  int ranks = 1;
  std::string problem;  ///< SHA-256 of the problem's canonical JSON
  std::vector<ProgramModel> models;
  std::vector<ProgramStage> stages;
  std::vector<Message> messages;
  std::vector<Reduction> reductions;
  std::vector<Instruction> code;
  ProgramPeak peak;

  friend bool operator==(const Program&, const Program&) = default;
};

/// Whether an op needs the output of an op of a neighboring stage.
bool takes_input(const Program& program, const Instruction& op);
/// Whether an op of a neighboring stage needs the output of `op`.
bool makes_output(const Program& program, const Instruction& op);
/// Returns the index of the stage on this rank that takes the output of `op`; nullopt if another rank takes it.
/// REQUIRES: makes_output(program, op).
std::optional<int> local_consumer(const Program& program, const Instruction& op);

/// Computes the peak of a program from its instructions.
ProgramPeak peak_of(const Program& program);

/// Describes an op of one of the program's stages: "F3 of actor/0 stage 1".
std::string describe(const Program& program, int stage, char letter, MicrobatchId microbatch);

inline constexpr std::string_view program_format = "dovetail/program@1";

std::string program_to_json(const Program& program);

/// A program, and the position of each instruction in its file.
struct ProgramFile {
  Program program;
  std::vector<base::FilePlace> places;
};

/// Reads the program of one rank. Does not compare it with the programs of other ranks; `check` does that. `path`
/// appears in messages.
base::Result<ProgramFile> parse_program(std::string_view content, const std::string& path);

/// Returns the file name of a rank in a folder of programs: "rank-3.json".
std::string program_file_name(int rank);

}  // namespace dovetail::pipeline
