// What a Hugging Face folder has beside weights.
#pragma once

#include <string>

#include "base/result.h"
#include "llm/computation.h"
#include "llm/transformer.h"

namespace dovetail::runtime {

/// Makes `folder` and writes into it the model's config.json and the files of its tokenizer, as `source`, a Hugging
/// Face folder, has them. The configuration is the source's to the byte where the model has the same kind of head, else
/// with the other architecture's name; without a source (empty) it is made of what is known.
base::Status write_model_folder(const llm::Transformer& shape, const llm::Computation& computation,
                                const std::string& source, const std::string& folder);

}  // namespace dovetail::runtime
