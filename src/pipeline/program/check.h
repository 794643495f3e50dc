// The proof that rank programs do what they have to, and that none waits for ever.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pipeline/program/program.h"

namespace dovetail::pipeline {

/// When a message counts as delivered.
enum class Delivery : std::uint8_t {
  buffered,             ///< once it is sent
  rendezvous_by_tag,    ///< once it is sent and its receive is posted (Gloo)
  rendezvous_in_order,  ///< the same, and all messages before it on its channel are delivered (NCCL)
};
inline constexpr std::array deliveries{Delivery::buffered, Delivery::rendezvous_by_tag, Delivery::rendezvous_in_order};
std::string_view name_of(Delivery delivery);

/// What is wrong with programs, and where.
struct ProgramFault {
  std::string message;
  int rank = 0;
  std::optional<std::size_t> instruction;  ///< of the rank's code; nothing where it is the end, or the rank's tables
};
/// "rank 2, instruction 17: ..."
std::string describe(const ProgramFault& fault);

/// The first fault of `programs`, one a rank, or nothing where each of this holds:
///
/// - the ranks agree on models, stages, channels and reductions; every micro-batch of every stage runs, once, forward
///   before backward, its input there and its output handed on, and is freed behind the last op that needs it;
/// - receives of a channel are posted in the order in which its messages are sent, each before it is waited for;
/// - a reduction starts once on each of its ranks, behind all that adds to it and in the one order of all ranks; a step
///   has awaited its gradients, a forward the weights of the step before;
/// - run one after the other, with sends and starts that do not wait, the programs come to their end. Messages are
///   delivered as `delivery` says; the reductions of a rank are carried out one at a time, in the order of their
///   starts;
/// - the peaks are those that the programs say.
///
/// How long anything takes does not matter: what a program waits for never depends on it.
std::optional<ProgramFault> check(std::span<const Program> programs, Delivery delivery);

}  // namespace dovetail::pipeline
