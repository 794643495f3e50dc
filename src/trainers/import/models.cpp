#include "trainers/import/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "base/document.h"
#include "llm/bundled_models.h"
#include "llm/huggingface_config.h"
#include "trainers/import/hub_cache.h"

namespace dovetail::trainers {
namespace {

/// Models whose shapes are those of others: distillations, later versions, models that see or hear by their language
/// part. The first name that a model's begins with counts.
struct KnownName {
  std::string_view name;
  std::string_view shape;     ///< what stands in its place
  bool has_others = false;    ///< parts beside the language model
  bool output_norms = false;  ///< that are not counted
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

/// Models by whose names it is known that no shape says what they have; the type is that of their config.json.
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

/// Words within a name that say what a model was tuned for; its shape is that of the family.
constexpr std::array<std::string_view, 4> tuned_words{"math", "coder", "instruct", "base"};

std::string lowered(std::string_view name) {
  std::string text;
  for (const char c : name) text += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Whether `name` begins with all of `part`, behind which one of `ends` or nothing stands.
bool begins_with(std::string_view name, std::string_view part, std::string_view ends) {
  return name.starts_with(part) && (name.size() == part.size() || ends.find(name[part.size()]) != std::string::npos);
}

std::vector<std::string> name_words(const std::string& name) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t end = std::min(name.find('-', begin), name.size());
    words.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::vector<std::string> untuned(std::vector<std::string> words) {
  std::erase_if(words, [](const std::string& word) {
    return std::find(tuned_words.begin(), tuned_words.end(), word) != tuned_words.end();
  });
  return words;
}

struct ShapeWords {
  std::vector<std::string> kept;
  std::vector<std::string> uncounted;
};

ShapeWords shape_words(std::string name) {
  const auto known = std::find_if(std::begin(known_names), std::end(known_names),
                                  [&](const KnownName& each) { return begins_with(name, each.name, "-"); });
  const bool is_known = known != std::end(known_names);
  if (is_known) name.replace(0, known->name.size(), known->shape);
  ShapeWords words{.kept = untuned(name_words(name)), .uncounted = {}};
  if (std::erase(words.kept, "vl") > 0 || (is_known && known->has_others))
    words.uncounted.emplace_back(llm::only_language_part);
  if (is_known && known->output_norms) words.uncounted.emplace_back(llm::no_output_norms);
  return words;
}

/// The bundled name with the most words that stand in `words` one behind the other.
std::optional<std::string> bundled_in(const std::vector<std::string>& words) {
  std::optional<std::string> best;
  std::size_t most = 0;
  for (const std::string& name : llm::bundled_model_names()) {
    const std::vector<std::string> wanted = untuned(name_words(name));
    if (wanted.size() <= most) continue;
    if (std::search(words.begin(), words.end(), wanted.begin(), wanted.end()) == words.end()) continue;
    best = name;
    most = wanted.size();
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
      return base::bad_input(fmt::format("{} is of the type {}: {}, which is not modelled", base::quote(name),
                                         beyond.type, llm::beyond_transformer(beyond.type).value_or("")));
  ShapeWords words = shape_words(lower);
  const std::optional<std::string> bundled = bundled_in(words.kept);
  if (!bundled)
    return base::bad_input(
        fmt::format("the shape of {} is not known, and there is no {}", base::quote(name), base::quote(config)));
  DOVETAIL_TRY(llm::Transformer shape, llm::find_bundled_model(*bundled));
  return FoundModel{.model = *bundled,
                    .why = fmt::format("the shape of {} is guessed from the name", *bundled),
                    .uncounted = std::move(words.uncounted),
                    .shape = std::move(shape)};
}

/// What a path calls a model: its last name, or that in the cache of Hugging Face's hub, whose folders are
/// `models--OWNER--NAME/snapshots/HASH`.
std::string model_name(std::string_view path) {
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
  return guess_model(model_name(path), config);
}

}  // namespace dovetail::trainers
