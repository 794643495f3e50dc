// Which model a trainer's configuration means by a path or a name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/transformer.h"
#include "trainers/syntax/files.h"

namespace dovetail::trainers {

struct FoundModel {
  std::string model;  ///< a bundled name, or the path of a config.json
  std::string why;    ///< "the shape of qwen3-8b is guessed from the name"; empty: it was read
  llm::Transformer shape;
};

/// The config.json of the folder `path` where `read` has it; else the bundled model whose name is part of the path's
/// last name, without what says how it was tuned (`-Instruct`, `-Math`). Of a vision model it is the language part. An
/// Error without a place where there is none, and those of llm::parse_config.
base::Result<FoundModel> find_model(std::string_view path, const FileReader& read);

}  // namespace dovetail::trainers
