// A model as files say it: by a bundled name, by the path of its config.json, or by what such a file has.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "llm/transformer.h"

namespace dovetail::plan {

/// Reads the model at `node`: a name, a path from `folder`, a map with a `model_type`, or a map {model: NAME or PATH,
/// lora: RANK}. `role` is whose model it is, for messages. Every mistake is an Error at its line and column.
base::Result<llm::Transformer> read_model(const base::Node& node, std::string_view role,
                                          const std::filesystem::path& folder);

}  // namespace dovetail::plan
