// A model as files say it: by a bundled name, by the path of its config.json, or by what such a file has.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "llm/computation.h"
#include "llm/transformer.h"

namespace dovetail::plan {

/// Reads the model at `node`: a bundled name, the path from `folder` of a config.json or of a folder that has one, a
/// map with a `model_type`, or a map {model: NAME or PATH, lora: RANK}. `role` is whose model it is, for messages.
/// Every mistake is an Error at its line and column.
base::Result<llm::Transformer> read_model(const base::Node& node, std::string_view role,
                                          const std::filesystem::path& folder);

/// What computing the model at `node`, which read_model has read, needs beyond its shape. Errors: a bundled model, of
/// which only the shape is known; those of llm::parse_computation.
base::Result<llm::Computation> read_computation(const base::Node& node, const llm::Transformer& shape,
                                                const std::filesystem::path& folder);

/// The folder of the config.json that the model at `node` is read from; empty where it is read from none.
std::string config_folder(const base::Node& node, const std::filesystem::path& folder);

}  // namespace dovetail::plan
