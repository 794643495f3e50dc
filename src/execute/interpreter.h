// Runs the instructions of a rank's program one after another. The interpreter sees only bytes; stages and a reducer do
// the computation.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "pipeline/program/program.h"
#include "transport/collectives.h"
#include "transport/transport.h"

namespace dovetail::execute {

using base::MicrobatchId;
using transport::Buffer;

/// One stage of one replica of a model, on this rank.
class Stage {
 public:
  virtual ~Stage() = default;

  /// Returns a buffer for a message of a micro-batch from another rank: an activation if `forward`, otherwise a
  /// gradient.
  virtual Buffer receive_buffer(bool forward, MicrobatchId microbatch) = 0;
  /// Called when a message has arrived in a buffer of receive_buffer(). The rank continues when this returns.
  virtual void arrived(bool /*forward*/, MicrobatchId /*microbatch*/, const Buffer& /*message*/) {}
  /// Computes F, B, I or W. `input` is the output of the neighboring stage, without data if the op has no input.
  /// Returns the output for the neighbor on the other side, without data if the op has no output.
  virtual base::Result<Buffer> run(pipeline::OpKind op, MicrobatchId microbatch, Buffer input) = 0;
  /// Frees the memory held for a micro-batch.
  virtual void free(MicrobatchId microbatch) = 0;
  /// Takes the optimizer step of a mini-batch.
  virtual base::Status step(int minibatch) = 0;
};

/// Carries out a rank's reductions, one at a time, while the stages run on another thread. No stage uses the data of a
/// reduction between the program's `reduce` and `await` instructions for it.
class Reducer {
 public:
  virtual ~Reducer() = default;

  /// `number` identifies the reduction: no other reduction in progress on any rank has it.
  virtual base::Status reduce(const pipeline::Reduction& reduction, std::uint32_t number,
                              transport::Collectives& collectives, transport::Deadline deadline) = 0;
};

/// The objects that do a rank's computation. `stages` are in the order of Program::stages.
struct Workers {
  std::vector<Stage*> stages;
  Reducer* reducer = nullptr;  ///< needed only if the program has reductions
};

/// When an instruction began and ended.
struct Interval {
  transport::Clock::time_point begin;
  transport::Clock::time_point end;
};

/// The execution times of a program: [instruction], as in Program::code.
struct Trace {
  std::vector<Interval> instructions;
};

/// A function that runs `work` and converts its exceptions to Errors.
using Guard = std::function<base::Status(const std::function<base::Status()>& work)>;

struct RunOptions {
  transport::Clock::duration timeout = std::chrono::minutes(5);  ///< limit of each wait
  std::uint32_t run = 0;  ///< number of the run: the same on all ranks, different for each run on the same transport
  transport::Collectives* collectives = nullptr;  ///< for the reductions; null: OrderedCollectives on the transport
  Guard guard = {};  ///< runs the calls of stages and of the reducer; null if these do not throw
};

/// Returns the channels on which the program sends and receives, in ascending order.
std::vector<transport::Channel> channels_of(const pipeline::Program& program);

/// Runs `program` to its end and waits until everything it sent is delivered. An Error of a stage, a reduction or the
/// transport ends the run of every rank (transport.fail). REQUIRES: pipeline::check accepts the programs of all ranks;
/// a worker exists for each stage; the program's channels are open if the transport carries device memory.
base::Result<Trace> run(const pipeline::Program& program, const Workers& workers, transport::Transport& transport,
                        const RunOptions& options);

}  // namespace dovetail::execute
