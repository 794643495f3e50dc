// Tensor files of a checkpoint: weights and optimizer moments of each role whose weights change.
//
// "ROLE.safetensors" holds the weights by name. Moments are named "first_moment.NAME" and "second_moment.NAME", or
// "first_moment.NAME[BEGIN:END]" for a part of a weight, with elements in row-major order. "steps" is the number of
// steps taken. If the run has one rank, moments and steps are in the same file as the weights. Otherwise, those of rank
// R are in "ROLE.rank-R.safetensors". Readers take the elements they need from all files, so the number of ranks may
// change.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/model/weight_files.h"
#include "runtime/model/weights.h"
#include "runtime/training/optimizer.h"

namespace dovetail::runtime {

/// Optimizer, and the model or stage whose weights it steps.
struct SteppedWeights {
  const Weights* weights = nullptr;
  const Optimizer* optimizer = nullptr;
  bool is_kept_elsewhere = false;  ///< true if another rank also holds these moments and writes them to its file
};

/// Returns "FOLDER/ROLE.safetensors".
std::string state_file(const std::string& folder, const std::string& role);
/// Returns "FOLDER/ROLE.rank-R.safetensors".
std::string part_file(const std::string& folder, const std::string& role, int rank);

/// Returns the weights of a model by name, without a tied head that shares the embedding's memory.
std::vector<NamedTensor> weights_state(const Weights& weights);
/// Returns the step count and the moments that this rank must write: all except those with is_kept_elsewhere. A tied
/// embedding that two stages hold is included once, with the first stage. REQUIRES: `stepped` is not empty.
std::vector<NamedTensor> moments_state(std::span<const SteppedWeights> stepped);

/// Reads moments and step counts into `stepped` from all files of the role. Returns an Error if a file is damaged or a
/// moment is incomplete.
base::Status read_moments(const std::string& folder, const std::string& role, std::span<const SteppedWeights> stepped);

}  // namespace dovetail::runtime
