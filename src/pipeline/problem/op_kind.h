// The kinds of ops and their traits: what any code asks of a kind. The lowering and the validator say what it waits
// for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// F forward, B whole backward, I input gradient, W weight gradient, S optimizer step: the order of tables and legends.
enum class OpKind : std::uint8_t { F, B, I, W, S, last = S };
inline constexpr std::size_t op_kinds = static_cast<std::size_t>(OpKind::last) + 1;

/// The part of training that an op belongs to.
enum class OpPhase : std::uint8_t { forward, backward, step };
/// Whether an op is all of a micro-batch's backward on a stage, or half of a split one.
enum class BackwardPart : std::uint8_t { none, whole, half };
/// Where an op's output travels, if it leaves the stage.
enum class OutputTo : std::uint8_t { nowhere, next_stage, previous_stage };
/// The place of an op's colour among those of its pipeline.
enum class Shade : std::uint8_t { light, dark, between, darkest };

struct OpTraits {
  OpKind kind = OpKind::F;
  char letter = '?';             ///< in formats and labels: "F" of "3F7"
  std::string_view name{};       ///< of its bars, in pictures and tables: "forward"
  std::string_view full_name{};  ///< where it stands alone: "optimizer step" for "step"
  OpPhase phase = OpPhase::forward;
  BackwardPart backward = BackwardPart::none;
  bool per_minibatch =
      false;  ///< one for each mini-batch (OpLabel::microbatch is its number), not for each micro-batch
  OutputTo output = OutputTo::nowhere;
  std::vector<Ticks> Model::* duration = nullptr;  ///< [stage]; a whole backward lasts as long as both halves
  bool (Model::*occurs)() const = nullptr;         ///< whether a model has such ops; null: each has
  std::string_view of_model{};                     ///< what is said of a model that has them: "has optimizer steps"
  std::int64_t rank = 0;                           ///< a device that may choose starts an op of the least rank
  Shade shade = Shade::light;
  std::string_view hatching{};  ///< the name of its pattern in pictures; empty: plain

  bool is_in(const Model& model) const { return occurs == nullptr || (model.*occurs)(); }
};

/// [kind] in the order of OpKind.
inline constexpr std::array<OpTraits, op_kinds> op_table{{
    {.kind = OpKind::F,
     .letter = 'F',
     .name = "forward",
     .full_name = "forward",
     .phase = OpPhase::forward,
     .output = OutputTo::next_stage,
     .duration = &Model::forward,
     .rank = 2,
     .shade = Shade::light},
    {.kind = OpKind::B,
     .letter = 'B',
     .name = "backward",
     .full_name = "backward",
     .phase = OpPhase::backward,
     .backward = BackwardPart::whole,
     .output = OutputTo::previous_stage,
     .duration = &Model::backward,
     .rank = 1,
     .shade = Shade::dark},
    {.kind = OpKind::I,
     .letter = 'I',
     .name = "input gradient",
     .full_name = "input gradient",
     .phase = OpPhase::backward,
     .backward = BackwardPart::half,
     .output = OutputTo::previous_stage,
     .duration = &Model::backward,
     .occurs = &Model::split,
     .of_model = "splits its backward",
     .rank = 1,
     .shade = Shade::dark},
    {.kind = OpKind::W,
     .letter = 'W',
     .name = "weight gradient",
     .full_name = "weight gradient",
     .phase = OpPhase::backward,
     .backward = BackwardPart::half,
     .duration = &Model::weight_gradient,
     .occurs = &Model::split,
     .of_model = "splits its backward",
     .rank = 3,
     .shade = Shade::between,
     .hatching = "weight"},
    {.kind = OpKind::S,
     .letter = 'S',
     .name = "step",
     .full_name = "optimizer step",
     .phase = OpPhase::step,
     .per_minibatch = true,
     .duration = &Model::step,
     .occurs = &Model::has_steps,
     .of_model = "has optimizer steps",
     .rank = 0,
     .shade = Shade::darkest},
}};

/// Whether `table` has a whole row for each kind, in order, with a letter of its own: a forgotten row does not compile.
consteval bool is_complete(const std::array<OpTraits, op_kinds>& table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const OpTraits& traits = table[i];
    if (traits.kind != OpKind{static_cast<std::uint8_t>(i)} || !traits.duration) return false;
    if (traits.name.empty() || traits.full_name.empty()) return false;
    if ((traits.occurs == nullptr) != traits.of_model.empty()) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (table[j].letter == traits.letter) return false;
  }
  return true;
}
static_assert(is_complete(op_table));

constexpr const OpTraits& traits_of(OpKind kind) { return op_table[static_cast<std::size_t>(kind)]; }
constexpr char letter_of(OpKind kind) { return traits_of(kind).letter; }

/// The stage that an op's input comes from, or its output goes to, of a pipeline's `stages`; nothing where it has none.
std::optional<int> input_stage(OpKind kind, int stage, int stages);
std::optional<int> output_stage(OpKind kind, int stage, int stages);

/// The kind of that letter.
std::optional<OpKind> op_kind_of(std::string_view letter);

/// All letters, for messages: "F, B, I, W or S", with `last` = " or " before the last one.
std::string op_letters(std::string_view last);

/// What makes `model` have ops of a kind that is not `known`, for code that knows some kinds only:
/// "model actor has optimizer steps".
std::optional<std::string> find_other_ops(const Model& model, std::span<const OpKind> known);
/// The same of any model.
std::optional<std::string> find_other_ops(const Problem& problem, std::span<const OpKind> known);

/// A micro-batch's passes: the schedules of other programs have no other ops.
inline constexpr std::array pass_kinds{OpKind::F, OpKind::B, OpKind::I, OpKind::W};
/// What solvers know that read the problem itself. The others see the graph, and know all kinds.
inline constexpr std::array problem_solver_kinds{OpKind::F, OpKind::B, OpKind::I, OpKind::W, OpKind::S};

/// Calls visit(durations, traits of a kind that lasts that long) once for each list of durations by stage of a Model.
template <class AnyModel, class Visit>
void for_each_duration(AnyModel& model, Visit visit) {
  for (const OpTraits& traits : op_table)
    if (traits.backward != BackwardPart::whole) visit(model.*traits.duration, traits);
}

}  // namespace dovetail::pipeline
