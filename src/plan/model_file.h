// Models in job files: a bundled name, the path of a config.json, or a map with the keys of a config.json.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "llm/computation.h"
#include "llm/transformer.h"

namespace dovetail::plan {

/// Reads the model at `node`: a bundled name, the path (relative to `folder`) of a config.json or of a folder that has
/// one, a map with a `model_type`, or a map {model: NAME or PATH, lora: RANK}. `role` appears in messages and names a
/// model that is given as a map with a `model_type`. Every mistake is an Error at its line and column.
base::Result<llm::Transformer> read_model(const base::Node& node, std::string_view role,
                                          const std::filesystem::path& folder);

/// Reads the settings that running a model needs in addition to its shape. An Error for a bundled model, because only
/// its shape is known. Other Errors as in llm::parse_computation. REQUIRES: `shape` is the result of read_model for
/// `node`.
base::Result<llm::Computation> read_computation(const base::Node& node, const llm::Transformer& shape,
                                                const std::filesystem::path& folder);

/// Returns the folder of the config.json of the model at `node`. Empty if the model does not come from a file.
std::string config_folder(const base::Node& node, const std::filesystem::path& folder);

}  // namespace dovetail::plan
