#include "trainers/import/models.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/file.h"
#include "llm/bundled_models.h"
#include "llm/huggingface_config.h"

namespace dovetail::trainers {
namespace {

namespace fs = std::filesystem;

/// Maximum length of a revision's name. A commit has 40 characters.
constexpr std::size_t max_revision_length = 64;

std::string variable(const std::vector<std::string>& assignments, std::string_view name) {
  for (auto each = assignments.rbegin(); each != assignments.rend(); ++each)
    if (each->size() > name.size() && each->starts_with(name) && (*each)[name.size()] == '=')
      return each->substr(name.size() + 1);
  const char* const value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::string() : std::string(value);
}

bool is_part_of_name(std::string_view part) {
  return !part.empty() && part != "." && part != ".." && std::all_of(part.begin(), part.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

std::optional<std::string> config_of(const fs::path& snapshot) {
  const fs::path config = snapshot / "config.json";
  std::error_code fault;
  return fs::is_regular_file(config, fault) ? std::optional(config.string()) : std::nullopt;
}

/// Returns the revision that `main` referred to at download.
std::optional<std::string> main_revision(const fs::path& model) {
  const auto content = base::read_file((model / "refs" / "main").string());
  if (!content.ok()) return std::nullopt;
  const std::string revision = content->substr(0, content->find_first_of(" \r\n"));
  return revision.size() <= max_revision_length && is_part_of_name(revision) ? std::optional(revision) : std::nullopt;
}

}  // namespace

std::string hub_cache_folder(const std::vector<std::string>& assignments) {
  fs::path folder;
  if (const std::string cache = variable(assignments, "HF_HUB_CACHE"); !cache.empty())
    folder = cache;
  else if (const std::string hf_home = variable(assignments, "HF_HOME"); !hf_home.empty())
    folder = fs::path(hf_home) / "hub";
  else if (const std::string caches = variable(assignments, "XDG_CACHE_HOME"); !caches.empty())
    folder = fs::path(caches) / "huggingface" / "hub";
  else if (const std::string user = variable(assignments, "HOME"); !user.empty())
    folder = fs::path(user) / ".cache" / "huggingface" / "hub";
  std::error_code fault;
  return folder.empty() ? std::string() : fs::absolute(folder, fault).lexically_normal().string();
}

std::optional<std::string> hub_config_path(const std::string& cache, std::string_view model) {
  const std::size_t slash = model.find('/');
  if (cache.empty() || slash == std::string_view::npos) return std::nullopt;
  const std::string_view owner = model.substr(0, slash);
  const std::string_view name = model.substr(slash + 1);
  if (!is_part_of_name(owner) || !is_part_of_name(name)) return std::nullopt;
  const fs::path folder = fs::path(cache) / ("models--" + std::string(owner) + "--" + std::string(name));
  if (const auto revision = main_revision(folder))
    if (auto config = config_of(folder / "snapshots" / *revision)) return config;
  std::error_code fault;
  std::vector<std::string> configs;
  for (fs::directory_iterator snapshot(folder / "snapshots", fault), end; !fault && snapshot != end;
       snapshot.increment(fault))
    if (auto config = config_of(snapshot->path())) configs.push_back(*std::move(config));
  return configs.size() == 1 ? std::optional(configs.front()) : std::nullopt;
}

namespace {

/// A model with the shape of another: a distillation, a later version, or a multimodal model (shape of its language
/// part). The first entry that a model's name starts with applies.
struct KnownName {
  std::string_view name;
  std::string_view shape;     ///< name of the model with that shape
  bool has_others = false;    ///< has parts besides the language model
  bool output_norms = false;  ///< has output norms, which are not modeled
};
constexpr KnownName known_names[] = {
    {"deepseek-r1-distill-qwen-1.5b", "deepseek-r1-distill-qwen-1.5b"},
    {"deepseek-r1-distill-qwen", "qwen2.5"},
    {"deepseek-r1-distill-llama", "llama-3.1"},
    {"deepseek-r1-0528-qwen3", "qwen3"},
    {"deepseek-r1", "deepseek-v3"},
    {"deepseek-math-7b", "deepseek-llm-7b"},
    {"glm-4-9b-0414", "glm-4-9b", false, true},
    {"glm-z1-9b-0414", "glm-4-9b", false, true},
    {"glm-4.1v-9b", "glm-4-9b", true, true},
    {"glm-4.7-flash", "glm-4.7-flash"},
    {"glm-4.7", "glm-4.5"},
    {"kimi-k2.5", "kimi-k2", true},
    {"kimi-k2.6", "kimi-k2", true},
    {"llama-3.3", "llama-3.1"},
    {"mistral-nemo-base-2407", "mistral-nemo-12b"},
    {"mistral-nemo-instruct-2407", "mistral-nemo-12b"},
    {"minicpm-o-2-6", "minicpm-o-2.6", true},
    {"minimax-m2.5", "minimax-m2"},
    {"minimax-m2.7", "minimax-m2"},
    {"qwen2-vl-2b", "qwen2-1.5b", true},
    {"qwen2.5-omni-7b", "qwen2.5-7b", true},
    {"qwen3-omni-30b-a3b", "qwen3-omni-30b-a3b", true},
    {"qwen3-vl-2b", "qwen3-1.7b", true},
    {"qwq-32b", "qwen2.5-32b"},
};

/// A model known to have features that are not modeled. `type` is the model type in its config.json.
struct BeyondName {
  std::string_view name;
  std::string_view type;
};
constexpr BeyondName beyond_names[] = {
    {"deepseek-v3.2", "deepseek_v32"},
    {"deepseek-v4", "deepseek_v4"},
    {"gemma-2", "gemma2"},
    {"gemma-3", "gemma3"},
    {"gemma-3n", "gemma3n"},
    {"gemma-4", "gemma4"},
    {"glm-5", "glm_moe_dsa"},
    {"gpt-oss", "gpt_oss"},
    {"kimi-linear", "kimi_linear"},
    {"llama-3-3-nemotron-super", "nemotron-nas"},
    {"llama-3.3-nemotron-super", "nemotron-nas"},
    {"llama-4", "llama4"},
    {"minimax-m1", "minimax"},
    {"nemotron-3", "nemotron_h"},
    {"nvidia-nemotron-3", "nemotron_h"},
    {"nvidia-nemotron-nano", "nemotron_h"},
    {"qwen3-coder-next", "qwen3_next"},
    {"qwen3-next", "qwen3_next"},
    {"qwen3.5", "qwen3_5"},
    {"qwen3.6", "qwen3_5"},
};

/// Words in a name that describe tuning and do not affect the shape.
constexpr std::array<std::string_view, 4> tuned_words{"math", "coder", "instruct", "base"};

std::string lowered(std::string_view name) {
  std::string text;
  for (const char c : name) text += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Returns whether `name` starts with `part`, followed by one of `ends` or nothing.
bool begins_with(std::string_view name, std::string_view part, std::string_view ends) {
  return name.starts_with(part) && (name.size() == part.size() || ends.find(name[part.size()]) != std::string::npos);
}

std::vector<std::string> split_name(const std::string& name) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t end = std::min(name.find('-', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> untuned(std::vector<std::string> parts) {
  std::erase_if(parts, [](const std::string& word) {
    return std::find(tuned_words.begin(), tuned_words.end(), word) != tuned_words.end();
  });
  return parts;
}

struct ShapeName {
  std::vector<std::string> kept;
  std::vector<std::string> uncounted;
};

ShapeName parse_shape_name(std::string name) {
  const auto known = std::find_if(std::begin(known_names), std::end(known_names),
                                  [&](const KnownName& each) { return begins_with(name, each.name, "-"); });
  const bool is_known = known != std::end(known_names);
  if (is_known) name.replace(0, known->name.size(), known->shape);
  ShapeName shape_name{.kept = untuned(split_name(name)), .uncounted = {}};
  if (std::erase(shape_name.kept, "vl") > 0 || (is_known && known->has_others))
    shape_name.uncounted.emplace_back(llm::only_language_part);
  if (is_known && known->output_norms) shape_name.uncounted.emplace_back(llm::no_output_norms);
  return shape_name;
}

/// Returns the bundled name with the most words among those that occur consecutively in `words`.
std::optional<std::string> bundled_in(const std::vector<std::string>& parts) {
  std::optional<std::string> best;
  std::size_t most = 0;
  for (const std::string& name : llm::bundled_model_names()) {
    const std::vector<std::string> bundled_parts = untuned(split_name(name));
    if (bundled_parts.size() <= most) continue;
    if (std::search(parts.begin(), parts.end(), bundled_parts.begin(), bundled_parts.end()) == parts.end()) continue;
    best = name;
    most = bundled_parts.size();
  }
  return best;
}

base::Result<FoundModel> read_model(const std::string& config, const std::string& content) {
  DOVETAIL_TRY(const base::Document document, base::parse_json(content, config));
  DOVETAIL_TRY(llm::Transformer shape, llm::parse_config(document.root(), config));
  return FoundModel{
      .model = config, .why = {}, .uncounted = llm::uncounted_parts(document.root()), .shape = std::move(shape)};
}

base::Result<FoundModel> guess_model(const std::string& name, const std::string& config) {
  const std::string lower = lowered(name);
  for (const BeyondName& beyond : beyond_names)
    if (begins_with(lower, beyond.name, "-."))
      return base::bad_input(fmt::format("{} has the model type {}: {}, which is not modeled", base::quote(name),
                                         beyond.type, llm::beyond_transformer(beyond.type).value_or("")));
  ShapeName shape_name = parse_shape_name(lower);
  const std::optional<std::string> bundled = bundled_in(shape_name.kept);
  if (!bundled)
    return base::bad_input(
        fmt::format("the shape of {} is unknown, and {} does not exist", base::quote(name), base::quote(config)));
  DOVETAIL_TRY(llm::Transformer shape, llm::find_bundled_model(*bundled));
  return FoundModel{.model = *bundled,
                    .why = fmt::format("the shape of {}, guessed from the name", *bundled),
                    .uncounted = std::move(shape_name.uncounted),
                    .shape = std::move(shape)};
}

/// Returns the name of the model at a path: its last component, or NAME for a folder in Hugging Face's cache,
/// `models--OWNER--NAME/snapshots/HASH`.
std::string name_from_path(std::string_view path) {
  constexpr std::string_view cached = "models--";
  const std::size_t at = path.rfind(cached);
  if (at == std::string_view::npos || (at > 0 && path[at - 1] != '/')) return syntax::name_of(path, "");
  std::string_view folder = path.substr(at + cached.size());
  folder = folder.substr(0, folder.find('/'));
  const std::size_t owner = folder.find("--");
  return std::string(owner == std::string_view::npos ? folder : folder.substr(owner + 2));
}

}  // namespace

base::Result<FoundModel> find_model(std::string_view path, const ModelSources& sources) {
  const std::string config = syntax::join_path(path, "config.json");
  if (sources.read)
    if (const auto content = sources.read(config); content.ok()) return read_model(config, *content);
  if (sources.read_cached)
    if (const auto cached = hub_config_path(sources.hub_cache, path))
      if (const auto content = sources.read_cached(*cached); content.ok()) return read_model(*cached, *content);
  return guess_model(name_from_path(path), config);
}

}  // namespace dovetail::trainers
