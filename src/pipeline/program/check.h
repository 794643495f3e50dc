// Proves that rank programs are complete and that none waits forever.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pipeline/program/program.h"

namespace dovetail::pipeline {

/// Condition under which a message is delivered. A channel is an ordered pair of ranks, the sender and the receiver.
enum class Delivery : std::uint8_t {
  buffered,             ///< once the message is sent
  rendezvous_by_tag,    ///< once the message is sent and its receive is posted (Gloo)
  rendezvous_in_order,  ///< like rendezvous_by_tag, and all earlier messages of its channel are delivered (NCCL)
};
inline constexpr std::array deliveries{Delivery::buffered, Delivery::rendezvous_by_tag, Delivery::rendezvous_in_order};
std::string_view name_of(Delivery delivery);

/// A fault of a rank program, and its location.
struct ProgramFault {
  std::string message;
  int rank = 0;
  std::optional<std::size_t> instruction;  ///< index into Program::code; absent if the fault is not in an instruction
};
/// Describes a fault: "rank 2, instruction 17: ..."
std::string describe(const ProgramFault& fault);

/// Returns the first fault of `programs` (one per rank, in rank order), or nullopt if all of the following hold:
///
/// - The ranks agree on models, stages, channels and reductions.
/// - Every micro-batch of every stage runs once, forward before backward, after its input has arrived. Its output is
///   passed on. Its memory is freed after the last op that needs it.
/// - Receives of a channel are posted in the order in which its messages are sent, each before it is waited for.
/// - A reduction starts once on each of its ranks, after everything that adds to it. All ranks start reductions in the
///   same order. A step awaits its gradients first, and a forward awaits the weights of the previous step.
/// - Every program terminates. This assumes that sends and starts of reductions do not block, that messages are
///   delivered as specified by `delivery`, and that each rank carries out its reductions one at a time, in the order in
///   which they start.
/// - The peak of each program is the one that it states.
///
/// Durations do not matter: what a program waits for never depends on them.
std::optional<ProgramFault> check(std::span<const Program> programs, Delivery delivery);

/// Returns a fault if an index in the tables or instructions of a program is invalid, if a stage or reduction does not
/// list this rank, if there are too many micro-batches, or if the sums of memory or bytes overflow; otherwise nullopt.
std::optional<ProgramFault> check_tables(const Program& program);

/// Checks one program by itself. Returns a fault for the first instruction that comes too early, twice or in the wrong
/// order; otherwise for anything missing after the last instruction, or for a wrong peak; otherwise nullopt. REQUIRES:
/// check_tables found nothing.
std::optional<ProgramFault> check_rank(const Program& program);

}  // namespace dovetail::pipeline
