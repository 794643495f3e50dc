// Runs a rank's program: instruction by instruction, in its order, whatever the times are.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "pipeline/program/program.h"
#include "transport/collectives.h"
#include "transport/transport.h"

namespace dovetail::execute {

/// Who does a rank's work. [stage] in the order of Program::stages.
struct Workers {
  std::vector<Stage*> stages;
  Reducer* reducer = nullptr;  ///< needed only where the program has reductions
};

/// When an instruction began and ended.
struct Interval {
  transport::Clock::time_point begin;
  transport::Clock::time_point end;
};

/// What a run of a program took: [instruction], as in Program::code.
struct Trace {
  std::vector<Interval> instructions;
};

/// Does some work, and makes an Error of what it throws.
using Guard = std::function<base::Status(const std::function<base::Status()>& work)>;

struct RunOptions {
  transport::Clock::duration timeout = std::chrono::minutes(5);  ///< of each wait
  std::uint32_t run = 0;  ///< the same on all ranks, another for the next run of a program on the same transport
  transport::Collectives* collectives = nullptr;  ///< of the reductions; null: those in order, on the transport
  Guard guard = {};                               ///< of stages and reductions; null: they throw nothing
};

/// On which the program sends and receives, in ascending order.
std::vector<transport::Channel> channels_of(const pipeline::Program& program);

/// Runs `program` to its end, and until what it has sent is delivered. An Error of a stage, a reduction or the
/// transport ends the run of every rank (transport.fail). REQUIRES: `check` found all ranks' programs sound; a worker
/// for each stage; its channels are open, where the transport carries device memory.
base::Result<Trace> run(const pipeline::Program& program, const Workers& workers, transport::Transport& transport,
                        const RunOptions& options);

using base::MicrobatchId;
using transport::Buffer;

/// One stage of one replica of a model, on this rank.
class Stage {
 public:
  virtual ~Stage() = default;

  /// Room for what another rank sends it of a micro-batch: an activation (`forward`) or a gradient.
  virtual Buffer room(bool forward, MicrobatchId microbatch) = 0;
  /// Such a message is there. The rank goes on when this returns.
  virtual void arrived(bool /*forward*/, MicrobatchId /*microbatch*/, const Buffer& /*message*/) {}
  /// Computes F, B, I or W. `input` is what the neighbour made, without data where there is none; so is what is
  /// returned, for the neighbour on the other side.
  virtual base::Result<Buffer> run(pipeline::OpKind op, MicrobatchId microbatch, Buffer input) = 0;
  /// Gives back what it holds of a micro-batch.
  virtual void free(MicrobatchId microbatch) = 0;
  /// The optimizer step of a mini-batch.
  virtual base::Status step(int minibatch) = 0;
};

/// Carries out a rank's reductions, one at a time, on a thread beside that of the stages: none touches what a stage
/// computes with between the reduction's start and its await.
class Reducer {
 public:
  virtual ~Reducer() = default;

  /// `number` is one that no other reduction that is under way has, on any rank.
  virtual base::Status reduce(const pipeline::Reduction& reduction, std::uint32_t number,
                              transport::Collectives& collectives, transport::Deadline deadline) = 0;
};

}  // namespace dovetail::execute
