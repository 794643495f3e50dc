// Weights in and out of safetensors files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/model/weights.h"
#include "weights/checkpoint.h"

namespace dovetail::runtime {

/// Fills all weights from the checkpoint, whatever type it has them in. A scalar head that it does not have is 0.
/// REQUIRES: control::check_weights found nothing wrong with it.
void read_weights(const weights::Checkpoint& checkpoint, Weights& weights);

/// Writes the weights as a Hugging Face folder's safetensors files. Where `source` is given and has the same tensors,
/// files, order, types and metadata are its: weights that have not changed give the same bytes. Else one file in fp32,
/// in the order of the model. A tied head is not written.
base::Status write_weights(const Weights& weights, const weights::Checkpoint* source, const std::string& folder);

/// A tensor in a file of ours, under a name.
struct NamedTensor {
  std::string name;
  Tensor value;
};
/// Writes tensors as they are into one file.
base::Status write_tensors(const std::string& path, std::span<const NamedTensor> tensors);
/// Reads into tensors what write_tensors wrote. An Error where the file lacks one, or has it in another shape or type.
base::Status read_tensors(const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace dovetail::runtime
