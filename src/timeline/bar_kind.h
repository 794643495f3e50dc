// Activities and idle times of devices, in one vocabulary for schedules, simulations and measured runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pipeline/problem/op_kind.h"

namespace dovetail::timeline {

/// Activity of a device over an interval: work, or idle time with its cause.
enum class BarKind : std::uint8_t {
  prefill,
  decode,
  recompute,  ///< repeated prefill of a sequence that was preempted or moved without its KV cache
  migration,  ///< sending or receiving the KV cache of unfinished sequences
  loading,    ///< loading the weights of another model, or offloading them to host memory, with no other work meanwhile
  infer,      ///< forward pass for log-probabilities, values or rewards
  forward,    ///< forward pass in training; the kinds from here to `step` are in the order of OpKind
  backward,   ///< whole backward pass
  input_gradient,   ///< first half of a split backward pass
  weight_gradient,  ///< second half of a split backward pass
  step,             ///< optimizer step of a mini-batch on one stage of a pipeline
  optimizer,        ///< optimizer step of a mini-batch with its collectives, for a whole model
  reallocation,     ///< sending or receiving new weights
  hand_over,        ///< software overhead of a task or an iteration: distributing data, collecting results
  work,             ///< work in a trace, known only by its name
  warm_up,          ///< idle: before the first op of the device
  tail,             ///< idle: generation is over on this device, but long samples still decode elsewhere
  dependency,       ///< idle: a predecessor still runs elsewhere, or a task on other devices has to end first
  transfer,         ///< idle: the output of a predecessor, or other data, is in transit
  delay,            ///< idle although the next op could start: its order or its start time delays it
  awaiting,         ///< idle: new weights are in transit to or from other devices
  bubble,           ///< idle: a pipeline fills, drains or waits for a neighboring stage
  imbalance,        ///< idle: other ranks of the same task have more work
  launch,           ///< idle: waiting for kernel launches; never a separate bar, see Bar::launch
  drain,            ///< idle: after the last op of the device, or all the time on a device without ops
  idle,             ///< idle time in a trace, known only by its name
};
inline constexpr int bar_kinds = static_cast<int>(BarKind::idle) + 1;

/// Bar kinds of pipeline ops, indexed by OpKind.
inline constexpr std::array op_bar_kinds{BarKind::forward, BarKind::backward, BarKind::input_gradient,
                                         BarKind::weight_gradient, BarKind::step};
static_assert(op_bar_kinds.size() == pipeline::op_kinds && op_bar_kinds.back() == BarKind::step);
/// Causes of idle time that schedule_timeline() distinguishes.
inline constexpr std::array schedule_causes{BarKind::warm_up, BarKind::dependency, BarKind::transfer, BarKind::delay,
                                            BarKind::drain};

constexpr std::size_t index_of(BarKind bar_kind) { return static_cast<std::size_t>(bar_kind); }

constexpr bool is_idle(BarKind bar_kind) { return bar_kind >= BarKind::warm_up; }
constexpr bool is_op(BarKind bar_kind) { return bar_kind >= op_bar_kinds.front() && bar_kind <= op_bar_kinds.back(); }

constexpr BarKind bar_kind_of(pipeline::OpKind kind) { return op_bar_kinds[static_cast<std::size_t>(kind)]; }
/// Returns the traits of the op. REQUIRES: is_op(bar_kind).
constexpr const pipeline::OpTraits& traits_of(BarKind bar_kind) {
  return pipeline::op_table[index_of(bar_kind) - index_of(op_bar_kinds.front())];
}
constexpr char letter_of(BarKind op) { return traits_of(op).letter; }

/// Returns the name of a bar kind: "prefill", "decode", "long tail", ...
std::string_view name_of(BarKind bar_kind);

/// Describes a bar kind and its owner: "decode of actor_generate", "reallocation for actor_generate", "dependency on
/// reward_infer". If `owner` is empty, only the kind: "bubble".
std::string describe(BarKind bar_kind, std::string_view owner);

}  // namespace dovetail::timeline
