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

/// Condition under which a message is delivered.
enum class Delivery : std::uint8_t {
  buffered,             ///< once the message is sent
  rendezvous_by_tag,    ///< once the message is sent and its receive is posted (Gloo)
  rendezvous_in_order,  ///< like rendezvous_by_tag, and all earlier messages of its channel are delivered (NCCL)
};
inline constexpr std::array deliveries{Delivery::buffered, Delivery::rendezvous_by_tag, Delivery::rendezvous_in_order};
std::string_view name_of(Delivery delivery);

/// A fault of programs, and its location.
struct ProgramFault {
  std::string message;
  int rank = 0;
  std::optional<std::size_t> instruction;  ///< index in the code; absent for a fault at the end or in the tables
};
/// Describes a fault: "rank 2, instruction 17: ..."
std::string describe(const ProgramFault& fault);

/// Returns the first fault of `programs`, one per rank, or nullopt if all of the following hold:
///
/// - The ranks agree on models, stages, channels and reductions.
/// - Every micro-batch of every stage runs once, forward before backward, after its input has arrived. Its output is
///   passed on. Its memory is freed after the last op that needs it.
/// - Receives of a channel are posted in the order in which its messages are sent, each before it is waited for.
/// - A reduction starts once on each of its ranks, after everything that adds to it. All ranks start reductions in the
///   same order. A step awaits its gradients first, and a forward awaits the weights of the previous step.
/// - The programs terminate when sends and starts of reductions do not block. Messages are delivered as specified by
///   `delivery`. Each rank carries out its reductions one at a time, in the order in which they start.
/// - The peaks are those that the programs state.
///
/// Durations do not matter: what a program waits for never depends on them.
std::optional<ProgramFault> check(std::span<const Program> programs, Delivery delivery);

/// Checks that all references in the tables of a program are valid and that its sums of memory and bytes do not
/// overflow.
std::optional<ProgramFault> check_tables(const Program& program);

/// Checks one program by itself. Returns the first instruction that comes too early, twice or in the wrong order.
/// Otherwise returns what is missing at the end, or a wrong peak. REQUIRES: check_tables found nothing.
std::optional<ProgramFault> check_rank(const Program& program);

}  // namespace dovetail::pipeline
