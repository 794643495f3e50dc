// Shapes of transformers in one line, as a job has them where no file does.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "llm/transformer.h"

namespace dovetail::llm {

/// The bundled model of that shape: `preferred` where it is one of several that have it. Nothing where none has it.
std::optional<std::string> bundled_model_of(const Transformer& shape, const std::string& preferred = {});

/// The map of a config.json, in one line of JSON, that parse_config reads as `shape`, without keys that it does not
/// need. An Error without a place where no family that is known is of such a shape.
base::Result<std::string> config_line(const Transformer& shape);

}  // namespace dovetail::llm
