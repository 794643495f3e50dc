// Models that a trainer's configuration names by path or name, and Hugging Face's download cache.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/transformer.h"
#include "syntax/files.h"

namespace dovetail::trainers {

/// Returns the cache folder that Hugging Face's libraries use: HF_HUB_CACHE, otherwise `hub` in HF_HOME, otherwise
/// `huggingface/hub` in XDG_CACHE_HOME or ~/.cache. Variables in `assignments` ("NAME=VALUE") take precedence over the
/// environment of this process. Returns an empty string if no variable is set.
std::string hub_cache_folder(const std::vector<std::string>& assignments);

/// Returns the path of the config.json of a model on the hub ("Qwen/Qwen3-8B") in a cache folder. Uses the revision
/// that `main` referred to at download, otherwise the only revision present. Returns nullopt if the cache has no such
/// revision, or if the name is not a valid hub name.
std::optional<std::string> hub_config_path(const std::string& cache, std::string_view model);

struct FoundModel {
  std::string model;                   ///< a bundled name, or the path of a config.json
  std::string why;                     ///< "the shape of qwen3-8b, guessed from the name"; empty: read from a file
  std::vector<std::string> uncounted;  ///< sentences about parts that are not modeled (llm/huggingface_config.h)
  llm::Transformer shape;
};

/// Places to look for models.
struct ModelSources {
  syntax::FileReader read;         ///< reader of config.json in folders; empty: no file is read
  std::string hub_cache;           ///< hub_cache_folder(); empty: none
  syntax::FileReader read_cached;  ///< reader of files in the cache
};

/// Finds a model. Tries the config.json in the folder `path`, then the cached config.json of the hub model `path`, then
/// the bundled model whose name occurs in the model's name: the last component of the path, or NAME in a path of
/// Hugging Face's cache (`models--OWNER--NAME/snapshots/HASH`). Suffixes that describe tuning (`-Instruct`,
/// `-Math`) are ignored. Returns the language part of a multimodal model. Returns an Error without location if no model
/// is found, or if models of this name have features that are not modeled. Also returns the errors of
/// llm::parse_config.
base::Result<FoundModel> find_model(std::string_view path, const ModelSources& sources);

}  // namespace dovetail::trainers
