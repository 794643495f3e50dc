// Models that Hugging Face's libraries have fetched from their hub.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::trainers {

/// The folder of what was fetched, as these libraries find it: HF_HUB_CACHE, else `hub` in HF_HOME, else
/// `huggingface/hub` in XDG_CACHE_HOME or ~/.cache. What `said` ("NAME=VALUE") has goes before the environment of this
/// process. Empty where neither says anything.
std::string hub_cache_folder(const std::vector<std::string>& said);

/// The path of the config.json of the hub's model of that name ("Qwen/Qwen3-8B") in such a folder: of the revision that
/// `main` was, else of the only one there. Nothing where it has none, or the name is none of a hub's model.
std::optional<std::string> hub_config_path(const std::string& cache, std::string_view model);

}  // namespace dovetail::trainers
