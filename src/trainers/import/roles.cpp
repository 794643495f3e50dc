#include "trainers/import/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/document.h"
#include "trainers/import/models.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {

base::Status check_said_models(const ImportOptions& options) {
  for (const std::string& said : options.models)
    if (!said.starts_with("actor=") && !said.starts_with("critic=") && !said.starts_with("reward="))
      return base::bad_input(
          fmt::format("--model {}: accepted: actor=NAME, critic=NAME, reward=NAME", base::quote(said)));
  return {};
}

base::Result<llm::Transformer> role_model(const SettingTree& tree, const RunRequest& request, const std::string& role,
                                          const std::string& key, ImportedRun& run) {
  const std::vector<std::string>& said = request.options.models;
  const std::string prefix = role + "=";
  const auto named =
      std::find_if(said.rbegin(), said.rend(), [&](const std::string& each) { return each.starts_with(prefix); });
  std::string path;
  if (named != said.rend()) {
    path = named->substr(prefix.size());
  } else {
    DOVETAIL_TRY(path, text_at(tree, key));
  }
  base::Result<FoundModel> found = find_model(path, request.read);
  if (!found.ok()) {
    const std::string what = fmt::format("{}; accepted: --model {}=NAME, or {}=FOLDER with its config.json",
                                         found.error().message, role, role);
    if (named != said.rend()) return base::bad_input(fmt::format("--model {}: {}", *named, what));
    return setting_error(tree, key, fmt::format("is {}: {}", base::quote(path), what));
  }
  if (named == said.rend() && !found->why.empty())
    run.assumed.push_back({key, fmt::format("{}: {}", path, found->why), place_of(tree, key)});
  run.models.push_back({.role = role, .model = found->model, .lora = 0});
  return std::move(found->shape);
}

base::Result<int> adapter_rank_at(const SettingTree& tree, const std::string& key) {
  DOVETAIL_TRY(const auto rank, optional_whole(tree, key));
  if (rank.value_or(0) <= 16384) return static_cast<int>(std::max<std::int64_t>(rank.value_or(0), 0));
  return setting_error(tree, key, "is too large; accepted: at most 16384");
}

base::Status choose_gpu(const ImportOptions& options, std::int64_t nodes, std::int64_t gpus_per_node,
                        ImportedRun& run) {
  if (!options.gpu) run.assumed.push_back({"", fmt::format("the GPUs are {}; --gpu says another", assumed_gpu)});
  DOVETAIL_TRY(const cluster::Gpu gpu, cluster::find_gpu(options.gpu.value_or(assumed_gpu)));
  run.cluster = plain_cluster(nodes, gpus_per_node, gpu.name);
  return {};
}

void assume_lengths(const SettingTree& tree, const ImportOptions& options, std::string_view prompt_key,
                    std::string_view response_key, ImportedRun& run) {
  for (const auto& [option, said, cap] :
       {std::tuple{"--prompt-length", options.prompt_length.has_value(), prompt_key},
        std::tuple{"--response-length", options.response_length.has_value(), response_key}})
    if (!said)
      run.assumed.push_back({std::string(cap),
                             fmt::format("all are as long as that; {} says how long they are", option),
                             place_of(tree, cap)});
}

}  // namespace dovetail::trainers
