// Weights in safetensors files, and the other files of a Hugging Face folder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "llm/computation.h"
#include "llm/transformer.h"
#include "runtime/model/weights.h"
#include "weights/checkpoint.h"

namespace dovetail::runtime {

/// Reads all weights from the checkpoint, converting their type. A scalar head that the checkpoint lacks is set to 0.
/// REQUIRES: the checkpoint passes control::check_weights.
void read_weights(const weights::Checkpoint& checkpoint, Weights& weights);

/// Writes the weights as safetensors files of a Hugging Face folder. If `source` is given and has the same tensors, its
/// files, order, types and metadata are reproduced, so unchanged weights yield identical bytes. Otherwise writes one
/// file in model order and in the weights' type, without a tied head.
base::Status write_weights(const Weights& weights, const weights::Checkpoint* source, const std::string& folder);

/// Named tensor in a file that the runtime writes.
struct NamedTensor {
  std::string name;
  Tensor value;
};
/// Writes tensors to one file without converting their type.
base::Status write_tensors(const std::string& path, std::span<const NamedTensor> tensors);
/// Reads the named tensors from a file of write_tensors into their `value`. Returns an Error if a tensor is missing or
/// has another shape or type.
base::Status read_tensors(const std::string& path, std::span<const NamedTensor> tensors);

/// Creates `folder`, and writes config.json and tokenizer files into it. Both are copied from the Hugging Face folder
/// `source` unless that is empty. If the architecture in config.json does not fit the model's head, the copy gets one
/// that does. Without a config.json in `source`, the configuration is derived from the model. Tokenizer files that
/// `source` lacks are not written.
base::Status write_model_folder(const llm::Transformer& shape, const llm::Computation& computation,
                                const std::string& source, const std::string& folder);

}  // namespace dovetail::runtime
