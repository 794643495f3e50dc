// Which model a trainer's configuration means by a path or a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/transformer.h"
#include "syntax/files.h"

namespace dovetail::trainers {

struct FoundModel {
  std::string model;                   ///< a bundled name, or the path of a config.json
  std::string why;                     ///< "the shape of qwen3-8b is guessed from the name"; empty: it was read
  std::vector<std::string> uncounted;  ///< sentences on what the model has beside the shape (llm/architecture.h)
  llm::Transformer shape;
};

/// Where models are looked for.
struct ModelSources {
  syntax::FileReader read;         ///< for the config.json of folders; none: nothing is read
  std::string hub_cache;           ///< of what Hugging Face's hub gave (hub_cache.h); empty: none
  syntax::FileReader read_cached;  ///< for files there
};

/// The config.json of the folder `path` where the sources have it; else that of the hub's model of this name in the
/// cache; else the bundled model whose name is part of the path's last name, without what says how it was tuned
/// (`-Instruct`, `-Math`). Of a model that sees or hears it is the language part. An Error without a place where there
/// is none, which says so where models of this name have what no shape says, and those of llm::parse_config.
base::Result<FoundModel> find_model(std::string_view path, const ModelSources& sources);

}  // namespace dovetail::trainers
