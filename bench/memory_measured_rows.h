// Measured peak memory of training runs, from public sources, each with its whole configuration if the source gives it
// (bench/data/memory_measured.csv).
//
// The sections are SimuMax v1.2 (1), the functional tests of Megatron-LM (2), whose last rank logs, nanotron's
// benchmark (3) and ATorch's table of Llama-2 (4), whose rank 0 logs, torchtitan's of December 2024 (5), the maximum
// over all GPUs, Megatron-Bridge's recipes and PithTrain (6). In section 3 the layers of the first stage are known; the
// division of the others does not affect it.
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
