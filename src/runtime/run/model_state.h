// The files of a checkpoint that have tensors: of each role that changes its weights, and the moments of its optimizer,
// in as many files as ranks have parts of them.
//
// "ROLE.safetensors" has the weights by their names. Moments are "first_moment.NAME" and "second_moment.NAME", of a
// part of a weight "first_moment.NAME[BEGIN:END]", its elements counted in row-major order; "steps" is how many were
// taken. They are in the same file where one rank has all of them, else rank R's in "ROLE.rank-R.safetensors". Whoever
// reads them takes of each file what its own parts need: the number of ranks may change.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/model/weight_files.h"
#include "runtime/model/weights.h"
#include "runtime/training/optimizer.h"

namespace dovetail::runtime {

/// An optimizer and the weights, of a model or a stage, that it steps.
struct SteppedWeights {
  const Weights* weights = nullptr;
  const Optimizer* optimizer = nullptr;
  bool is_kept_elsewhere = false;  ///< its moments are another rank's, too, which writes them
};

/// "FOLDER/ROLE.safetensors"
std::string state_file(const std::string& folder, const std::string& role);
/// "FOLDER/ROLE.rank-R.safetensors"
std::string part_file(const std::string& folder, const std::string& role, int rank);

/// All weights of a model.
std::vector<NamedTensor> weights_state(const Weights& weights);
/// The moments of what is stepped here, and not kept elsewhere, with the count of steps; those of an embedding that two
/// stages have once, with the first. REQUIRES: something is stepped.
std::vector<NamedTensor> moments_state(std::span<const SteppedWeights> stepped);

/// Reads moments into `stepped`, and the count of steps into each, from all files of the role. An Error where a file is
/// damaged, or where they do not have all of them.
base::Status read_moments(const std::string& folder, const std::string& role, std::span<const SteppedWeights> stepped);

}  // namespace dovetail::runtime
