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

namespace dovetail::trainers {
namespace {

/// Distillations have the shapes of what they were made into, and a later version may have those of an earlier one.
constexpr std::array<std::array<std::string_view, 2>, 3> other_families{
    {{"deepseek-r1-distill-qwen", "qwen2.5"}, {"deepseek-r1-distill-llama", "llama-3.1"}, {"llama-3.3", "llama-3.1"}}};
/// ShapeWords within a name that say what a model was tuned_words for; its shape is that of the family.
constexpr std::array<std::string_view, 4> tuned_words{"math", "coder", "instruct", "base"};

std::string lowered(std::string_view name) {
  std::string text;
  for (const char c : name) text += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [family, own] : other_families)
    if (text.starts_with(family)) text.replace(0, family.size(), own);
  return text;
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

struct ShapeWords {
  std::vector<std::string> kept;
  bool vision = false;
};

ShapeWords shape_words(const std::string& name) {
  ShapeWords words;
  for (std::string& word : name_words(name)) {
    if (word == "vl")
      words.vision = true;
    else if (std::find(tuned_words.begin(), tuned_words.end(), word) == tuned_words.end())
      words.kept.push_back(std::move(word));
  }
  return words;
}

/// The bundled name with the most words that stand in `words` one behind the other.
std::optional<std::string> bundled_in(const std::vector<std::string>& words) {
  std::optional<std::string> best;
  std::size_t most = 0;
  for (const std::string& name : llm::bundled_model_names()) {
    const std::vector<std::string> wanted = name_words(name);
    if (wanted.size() <= most) continue;
    if (std::search(words.begin(), words.end(), wanted.begin(), wanted.end()) == words.end()) continue;
    best = name;
    most = wanted.size();
  }
  return best;
}

}  // namespace

base::Result<FoundModel> find_model(std::string_view path, const FileReader& read) {
  const std::string config = join_path(path, "config.json");
  if (read) {
    if (const auto content = read(config); content.ok()) {
      DOVETAIL_TRY(const base::Document document, base::parse_json(*content, config));
      DOVETAIL_TRY(llm::Transformer shape, llm::parse_config(document.root(), config));
      return FoundModel{.model = config, .why = {}, .shape = std::move(shape)};
    }
  }
  const std::string name = name_of(path, "");
  const ShapeWords words = shape_words(lowered(name));
  const std::optional<std::string> bundled = bundled_in(words.kept);
  if (!bundled)
    return base::bad_input(
        fmt::format("the shape of {} is not known, and there is no {}", base::quote(name), base::quote(config)));
  DOVETAIL_TRY(llm::Transformer shape, llm::find_bundled_model(*bundled));
  return FoundModel{.model = *bundled,
                    .why = fmt::format("{}the shape of {} is guessed from the name",
                                       words.vision ? "only the language part is counted: " : "", *bundled),
                    .shape = std::move(shape)};
}

}  // namespace dovetail::trainers
