#include "trainers/import/roles.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "base/document.h"
#include "llm/bundled_models.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

/// Returns the model that the user gives for a role.
std::optional<std::string> given_model(const ImportOptions& options, const std::string& role) {
  const std::string prefix = role + "=";
  const auto named = std::find_if(options.models.rbegin(), options.models.rend(),
                                  [&](const std::string& each) { return each.starts_with(prefix); });
  if (named == options.models.rend()) return std::nullopt;
  return named->substr(prefix.size());
}

base::Result<FoundModel> find_requested(std::string_view path, const RunRequest& request) {
  return find_model(path, {.read = request.read, .hub_cache = request.hub_cache, .read_cached = request.read_cached});
}

/// Records the parts of a model that are not modeled, at `key`. An empty key means that the user gives the model; the
/// finding then has no place.
void list_uncounted(const syntax::SettingTree& tree, const FoundModel& found, std::string_view path,
                    std::string_view key, ImportedRun& run) {
  for (const std::string& what : found.uncounted)
    run.not_modelled.push_back(
        {std::string(key), fmt::format("{}: {}", path, what), key.empty() ? syntax::Place{} : place_of(tree, key)});
}

}  // namespace

base::Status check_given_models(const ImportOptions& options) {
  for (const std::string& given : options.models)
    if (!given.starts_with("actor=") && !given.starts_with("critic=") && !given.starts_with("reward="))
      return base::bad_input(fmt::format(
          "--model {} names no known role; accepted: actor, critic or reward, as in actor=NAME or actor=FOLDER",
          base::quote(given)));
  return {};
}

base::Result<llm::Transformer> role_model(const syntax::SettingTree& tree, const RunRequest& request,
                                          const std::string& role, const std::string& key, ImportedRun& run) {
  const std::optional<std::string> given = given_model(request.options, role);
  std::string path;
  if (given) {
    path = *given;
  } else {
    DOVETAIL_TRY(path, text_at(tree, key));
  }
  base::Result<FoundModel> found = find_requested(path, request);
  if (!found.ok()) {
    const std::string what = fmt::format("{}; accepted: --model {}=NAME, or {}=FOLDER with its config.json",
                                         found.error().message, role, role);
    if (given) return base::bad_input(fmt::format("--model {}={}: {}", role, path, what));
    return setting_error(tree, key, fmt::format("is {}: {}", base::quote(path), what));
  }
  if (!given && !found->why.empty())
    run.assumed.push_back({key, fmt::format("{}: {}", path, found->why), place_of(tree, key)});
  list_uncounted(tree, *found, path, given ? std::string_view() : std::string_view(key), run);
  run.models.push_back({.role = role, .model = found->model, .lora = 0});
  return std::move(found->shape);
}

std::optional<FoundModel> seen_model(const syntax::SettingTree& tree, const RunRequest& request, std::string_view key) {
  const auto path = optional_text(tree, key);
  if (!path.ok() || !*path) return std::nullopt;
  base::Result<FoundModel> found = find_requested(**path, request);
  if (!found.ok()) return std::nullopt;
  return *std::move(found);
}

base::Result<llm::Transformer> shaped_model(const syntax::SettingTree& tree, const RunRequest& request,
                                            const std::string& role, const std::string& key,
                                            const base::Result<llm::Transformer>& shape, const std::string& shape_key,
                                            ImportedRun& run) {
  if (given_model(request.options, role)) return role_model(tree, request, role, key, run);
  if (!shape.ok()) return shape.error();
  const std::optional<FoundModel> seen = seen_model(tree, request, key);
  if (seen) {
    llm::Transformer other = seen->shape;
    other.name = shape->name;
    if (other != *shape)
      run.assumed.push_back(
          {key, fmt::format("the shape set by flags is used; it differs from {}", seen->model), place_of(tree, key)});
    list_uncounted(tree, *seen, seen->model, key, run);
  }
  ImportedModel model{
      .role = role, .model = llm::bundled_model_of(*shape, seen ? seen->model : "").value_or(""), .lora = 0};
  if (model.model.empty()) {
    base::Result<std::string> line = llm::config_line(*shape);
    if (!line.ok())
      return setting_error(
          tree, shape_key,
          fmt::format("and the other shape flags: {}; accepted: --model {}=NAME, or {}=FOLDER with its "
                      "config.json",
                      line.error().message, role, role));
    model.config = *std::move(line);
  }
  run.models.push_back(std::move(model));
  return shape;
}

base::Result<int> adapter_rank_at(const syntax::SettingTree& tree, const std::string& key) {
  DOVETAIL_TRY(const auto rank, optional_integer(tree, key));
  if (rank.value_or(0) <= 16384) return static_cast<int>(std::max<std::int64_t>(rank.value_or(0), 0));
  return setting_error(tree, key, "is too large; accepted: at most 16384");
}

base::Status choose_gpu(const ImportOptions& options, std::int64_t nodes, std::int64_t gpus_per_node,
                        ImportedRun& run) {
  if (!options.gpu)
    run.assumed.push_back({"", fmt::format("GPUs are assumed to be {}; set --gpu for another type", assumed_gpu)});
  DOVETAIL_TRY(const cluster::Gpu gpu, gpu_of_option(options.gpu.value_or(assumed_gpu)));
  run.cluster = plain_cluster(nodes, gpus_per_node, gpu.name);
  return {};
}

AssignedPools assign_pools(const std::vector<std::int64_t>& counts, std::int64_t per_node) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  AssignedPools dealt{.meshes = std::vector<cluster::Mesh>(counts.size())};
  std::int64_t end = 0;
  for (const std::size_t pool : order) {
    const std::int64_t count = counts[pool];
    if (count > per_node - end % per_node && end % per_node != 0) end += per_node - end % per_node;
    dealt.meshes[pool] = {.first = static_cast<int>(end), .count = static_cast<int>(count)};
    end += count;
  }
  dealt.nodes = (end + per_node - 1) / per_node;
  return dealt;
}

base::Result<std::vector<cluster::Mesh>> choose_pools(const ImportOptions& options,
                                                      const std::vector<std::int64_t>& counts, std::int64_t per_node,
                                                      ImportedRun& run) {
  DOVETAIL_TRY(std::optional<ClusterChoice> chosen, chosen_cluster(options));
  std::int64_t requested = 0;
  for (const std::int64_t count : counts) {
    if (count < 1 || count > max_devices - requested)
      return base::bad_input(
          fmt::format("a role uses no GPUs, or all roles use too many; accepted: 1 to {} in total", max_devices));
    requested += count;
  }
  const std::int64_t node =
      chosen ? chosen->gpus_per_node : std::max(per_node, std::min(requested, default_gpus_per_node));
  auto [meshes, nodes] = assign_pools(counts, node);
  if (!chosen) {
    DOVETAIL_CHECK(choose_gpu(options, nodes, node, run));
    return meshes;
  }
  if (chosen->nodes < nodes)
    return base::bad_input(
        fmt::format("--cluster has {0} nodes of {1} GPUs, but the roles need {2} GPUs on {3} nodes (a pool stays "
                    "within one node if "
                    "it fits); accepted: at least {3} nodes",
                    chosen->nodes, node, requested, nodes));
  run.cluster = *std::move(chosen);
  return meshes;
}

void assume_lengths(const syntax::SettingTree& tree, const ImportOptions& options, std::string_view prompt_key,
                    std::string_view response_key, ImportedRun& run) {
  for (const auto& [option, given, cap] :
       {std::tuple{"--prompt-length", options.prompt_length.has_value(), prompt_key},
        std::tuple{"--response-length", options.response_length.has_value(), response_key}})
    if (!given)
      run.assumed.push_back(
          {std::string(cap),
           fmt::format("lengths are assumed to equal this cap; set {} to give actual lengths", option),
           place_of(tree, cap)});
}

void take_sequence_cap(const syntax::SettingTree& tree, std::string_view key, std::int64_t cap, ImportedRun& run) {
  if (cap < 1) return;
  const std::int64_t both = run.prompt_cap + run.response_cap;
  if (cap <= run.prompt_cap || (!run.packing && cap < both)) {
    const std::string_view why =
        run.packing ? "which a prompt alone can reach" : "but sequences are padded to more tokens";
    run.not_modelled.push_back(
        {std::string(key),
         fmt::format(
             "{} tokens for prompt and response, {}; modeled up to the sum of the prompt and response caps ({})", cap,
             why, both),
         place_of(tree, key)});
    return;
  }
  run.max_prompt = std::min(run.effective_prompt_cap(), cap - 1);
  run.max_response = run.effective_response_cap();
  run.sequence_cap = run.sequence_cap > 0 ? std::min(run.sequence_cap, cap) : cap;
  if (run.response_cap <= cap - run.prompt_cap) return;
  run.response_cap = cap - run.prompt_cap;
  run.assumed.push_back(
      {std::string(key),
       fmt::format("{} tokens for prompt and response; after the longest prompts, responses have at most {} tokens",
                   cap, run.response_cap),
       place_of(tree, key)});
}

}  // namespace dovetail::trainers
