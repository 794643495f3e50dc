// Measured peak memory of training runs, from public sources, each with its whole configuration if the source gives it.
//
// The rows are those of SimuMax v1.2 (section 1), the functional tests of Megatron-LM (2), nanotron's benchmark (3),
// ATorch's table of Llama-2 (4), torchtitan's of December 2024 (5), Megatron-Bridge's recipes and PithTrain (6). Each
// function of the source names what its source reports.
#pragma once

#include <string>
#include <vector>

#include "cost/training_memory.h"

namespace dovetail::bench {

inline constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

/// Kind of value that a source reports.
enum class Kind { allocated, reserved, between_steps };

/// A measured value and its configuration.
struct MeasuredMemory {
  int section = 0;
  std::string model_text;
  llm::Transformer model;
  llm::Layout layout;
  cost::TrainingShape shape;
  cost::Conventions conventions;
  Kind kind = Kind::allocated;
  int stage = -1;       // -1: maximum over all stages
  double measured = 0;  // bytes
  std::string note{};
  std::string open{};       // settings that the source omits; such a row is not counted
  bool is_modelled = true;  // whether the model covers this row
};

/// Returns all rows by section.
std::vector<MeasuredMemory> measured_memory();

}  // namespace dovetail::bench
