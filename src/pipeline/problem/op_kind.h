// Op kinds and their traits. The lowering and the validator define what an op waits for.
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

/// Kind of op: F forward, B whole backward, I input gradient, W weight gradient, S optimizer step. Tables and legends
/// use this order.
enum class OpKind : std::uint8_t { F, B, I, W, S, last = S };
inline constexpr std::size_t op_kinds = static_cast<std::size_t>(OpKind::last) + 1;

/// Whether an op belongs to the forward pass, the backward pass or the optimizer step.
enum class OpPhase : std::uint8_t { forward, backward, step };
/// Part of a micro-batch's backward that an op computes on its stage: none, all of it (B), or half of a split backward
/// (I or W).
enum class BackwardPart : std::uint8_t { none, whole, half };
/// Neighboring stage that receives an op's output, if any.
enum class OutputTo : std::uint8_t { nowhere, next_stage, previous_stage };
/// Shade of the pipeline's color that an op is drawn in.
enum class Shade : std::uint8_t { light, dark, between, darkest };

struct OpTraits {
  OpKind kind = OpKind::F;
  char letter = '?';             ///< used in formats and labels: "F" in "3F7"
  std::string_view name{};       ///< label of its bars in charts and tables: "forward"
  std::string_view full_name{};  ///< name outside of charts and tables: "optimizer step" for "step"
  OpPhase phase = OpPhase::forward;
  BackwardPart backward = BackwardPart::none;
  bool per_minibatch = false;  ///< true: one op per mini-batch, numbered by OpLabel::microbatch; false: per micro-batch
  OutputTo output = OutputTo::nowhere;
  /// Member of Model with the op's duration by stage. If the model splits its backward, a B lasts as long as I and W
  /// together (Model::whole_backward), not as long as this member states.
  std::vector<Ticks> Model::* duration = nullptr;
  bool (Model::*occurs)() const = nullptr;  ///< whether a model has such ops; null if every model does
  std::string_view of_model{};              ///< predicate for a model that has them: "has optimizer steps"
  std::int64_t rank = 0;                    ///< priority: a device with a choice starts the op with the lowest rank
  Shade shade = Shade::light;
  std::string_view hatching{};  ///< name of its fill pattern in charts; empty if plain

  bool is_in(const Model& model) const { return occurs == nullptr || (model.*occurs)(); }
};

/// Traits by kind, in the order of OpKind.
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

/// Whether `table` has a complete row for each kind, in order, with unique letters. If not, the build fails.
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

/// Returns the stage that an op's input comes from, or the stage that its output goes to. `stages` is the number of
/// stages of the pipeline. Returns nullopt if no such stage exists.
std::optional<int> input_stage(OpKind kind, int stage, int stages);
std::optional<int> output_stage(OpKind kind, int stage, int stages);

/// Returns the kind with this letter, or nullopt.
std::optional<OpKind> op_kind_of(std::string_view letter);

/// Lists all letters for messages: "F, B, I, W or S" if `last` is " or ".
std::string op_letters(std::string_view last);

/// Describes the first kind of op that the model has besides those in `known`, for code that supports only some kinds:
/// "model actor has optimizer steps". Returns nullopt if it has only known kinds.
std::optional<std::string> find_other_ops(const Model& model, std::span<const OpKind> known);
/// Calls find_other_ops for each model of `problem` and returns the first description, otherwise nullopt.
std::optional<std::string> find_other_ops(const Problem& problem, std::span<const OpKind> known);

/// Kinds of ops in the forward and backward pass of a micro-batch. File formats of other programs have only these.
inline constexpr std::array pass_kinds{OpKind::F, OpKind::B, OpKind::I, OpKind::W};
/// Kinds supported by solvers that read the problem itself. Solvers that read its OpGraph support all kinds.
inline constexpr std::array problem_solver_kinds{OpKind::F, OpKind::B, OpKind::I, OpKind::W, OpKind::S};

/// Calls visit(durations, traits) once for each list of op durations by stage in a Model.
template <class AnyModel, class Visit>
void for_each_duration(AnyModel& model, Visit visit) {
  for (const OpTraits& traits : op_table)
    if (traits.backward != BackwardPart::whole) visit(model.*traits.duration, traits);
}

}  // namespace dovetail::pipeline
