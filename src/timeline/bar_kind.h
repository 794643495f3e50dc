// What devices do, in one vocabulary: schedules, simulations and measured runs all say it in these words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pipeline/problem/op_kind.h"

namespace dovetail::timeline {

/// What a device does for a while: work, or idling with its cause.
enum class BarKind : std::uint8_t {
  prefill,
  decode,
  recompute,        ///< prefill of a sequence once more, after it was preempted or moved without its keys and values
  migration,        ///< sending or receiving keys and values of unfinished sequences
  loading,          ///< weights of another model come in, or leave for host memory, with nothing else to do meanwhile
  infer,            ///< a forward pass: log-probabilities, values, rewards
  forward,          ///< of training, as all below up to `optimizer`; the ops of a pipeline come first, in their order
  backward,         ///< the whole one
  input_gradient,   ///< a half of a split backward
  weight_gradient,  ///< the other half
  step,             ///< of one mini-batch on one stage of a pipeline
  optimizer,        ///< a step's collectives and the optimizer, of a whole model
  reallocation,     ///< sending or receiving new weights
  hand_over,        ///< what software adds to a task or an iteration: handing out data, collecting answers
  work,             ///< what only its name tells: of a trace
  warm_up,          ///< idle: before the device's first op
  tail,             ///< idle: generation is over here, and long samples still decode elsewhere
  dependency,       ///< idle: a predecessor still runs elsewhere, or a task on other devices has to end first
  transfer,         ///< idle: a predecessor's output, or data, travels
  delay,            ///< idle although the next op could start: its order or its start time holds it back
  awaiting,         ///< idle: new weights are on their way to or from other devices
  bubble,           ///< idle: a pipeline fills, drains, or waits for a neighbouring stage
  imbalance,        ///< idle: other ranks of the same task have more to do
  launch,           ///< idle: kernels are launched one by one; never a bar of its own, see Bar::launch
  drain,            ///< idle: after the device's last op; all the time on a device without ops
  idle,             ///< what only its name tells: of a trace
};
inline constexpr int bar_kinds = static_cast<int>(BarKind::idle) + 1;

/// What the ops of a pipeline are: [OpKind].
inline constexpr std::array op_bar_kinds{BarKind::forward, BarKind::backward, BarKind::input_gradient,
                                         BarKind::weight_gradient, BarKind::step};
static_assert(op_bar_kinds.size() == pipeline::op_kinds && op_bar_kinds.back() == BarKind::step);
/// The causes of idle time that a schedule has.
inline constexpr std::array schedule_causes{BarKind::warm_up, BarKind::dependency, BarKind::transfer, BarKind::delay,
                                            BarKind::drain};

constexpr std::size_t index_of(BarKind bar_kind) { return static_cast<std::size_t>(bar_kind); }

constexpr bool is_idle(BarKind bar_kind) { return bar_kind >= BarKind::warm_up; }
constexpr bool is_op(BarKind bar_kind) { return bar_kind >= op_bar_kinds.front() && bar_kind <= op_bar_kinds.back(); }

constexpr BarKind bar_kind_of(pipeline::OpKind kind) { return op_bar_kinds[static_cast<std::size_t>(kind)]; }
/// Of the ops that it is. REQUIRES: is_op(bar kind).
constexpr const pipeline::OpTraits& traits_of(BarKind bar_kind) {
  return pipeline::op_table[index_of(bar_kind) - index_of(op_bar_kinds.front())];
}
constexpr char letter_of(BarKind op) { return traits_of(op).letter; }

/// "prefill", "decode", "long tail", ...
std::string_view name_of(BarKind bar_kind);

/// "decode of actor_generate", "reallocation for actor_generate", "dependency on reward_infer"; "bubble" where `whose`
/// is empty.
std::string describe(BarKind bar_kind, std::string_view whose);

}  // namespace dovetail::timeline
