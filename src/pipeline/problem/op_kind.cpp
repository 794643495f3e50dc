#include "pipeline/problem/op_kind.h"

#include <fmt/core.h>

#include <algorithm>

namespace dovetail::pipeline {
namespace {

std::optional<int> within(int stage, int stages) {
  return stage >= 0 && stage < stages ? std::optional(stage) : std::nullopt;
}

}  // namespace

std::optional<int> input_stage(OpKind kind, int stage, int stages) {
  const OutputTo output = traits_of(kind).output;
  if (output == OutputTo::nowhere) return std::nullopt;
  return within(output == OutputTo::next_stage ? stage - 1 : stage + 1, stages);
}

std::optional<int> output_stage(OpKind kind, int stage, int stages) {
  const OutputTo output = traits_of(kind).output;
  if (output == OutputTo::nowhere) return std::nullopt;
  return within(output == OutputTo::next_stage ? stage + 1 : stage - 1, stages);
}

std::optional<OpKind> op_kind_of(std::string_view letter) {
  for (const OpTraits& traits : op_table)
    if (letter.size() == 1 && letter.front() == traits.letter) return traits.kind;
  return std::nullopt;
}

std::string op_letters(std::string_view last) {
  std::string letters;
  for (const OpTraits& traits : op_table) {
    if (!letters.empty()) letters += traits.kind == op_table.back().kind ? last : ", ";
    letters += traits.letter;
  }
  return letters;
}

std::optional<std::string> find_other_ops(const Model& model, std::span<const OpKind> known) {
  for (const OpTraits& traits : op_table) {
    const bool is_known = std::find(known.begin(), known.end(), traits.kind) != known.end();
    if (!is_known && traits.is_in(model)) return fmt::format("model {} {}", model.name, traits.of_model);
  }
  return std::nullopt;
}

std::optional<std::string> find_other_ops(const Problem& problem, std::span<const OpKind> known) {
  for (const Model& model : problem.models)
    if (auto other = find_other_ops(model, known)) return other;
  return std::nullopt;
}

}  // namespace dovetail::pipeline
