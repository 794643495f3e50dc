// What a rank program runs: stages and reductions, whatever computes them. The interpreter sees bytes only.
#pragma once

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
