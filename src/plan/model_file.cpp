#include "plan/model_file.h"

#include <fmt/core.h>

#include <string>
#include <system_error>

#include "base/file.h"
#include "base/utf8.h"
#include "llm/bundled_models.h"
#include "llm/huggingface_config.h"

namespace dovetail::plan {
namespace {

using base::Node;
using base::Result;

constexpr std::int64_t max_adapter_rank = 1 << 14;

/// Path of the config.json for a model's name: the name itself if it ends in .json, otherwise the config.json in the
/// folder with that name. nullopt if there is no such folder.
std::optional<std::string> config_path(std::string_view name, const std::filesystem::path& folder) {
  const std::filesystem::path path = (folder / name).lexically_normal();
  if (name.ends_with(".json")) return path.string();
  std::error_code none;
  return std::filesystem::is_directory(path, none) ? std::optional((path / "config.json").string()) : std::nullopt;
}

/// Reads a config.json. `node` is its name in the job.
Result<base::Document> read_config(const Node& node, const std::string& path) {
  const auto content = base::read_file(path);
  if (!content.ok()) {
    base::Error error = node.error(base::to_text(content.error()));
    error.failure = content.error().failure;
    return error;
  }
  return base::parse_json(*content, path);
}

/// Name of the model of a config.json: the name of its folder, or the model's name in Hugging Face's cache
/// (`models--OWNER--NAME/snapshots/REVISION/config.json`).
std::string name_of_config(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  std::string name = folder.filename().string();
  if (folder.parent_path().filename() == "snapshots") {
    const std::string cached = folder.parent_path().parent_path().filename().string();
    if (const std::size_t last = cached.rfind("--"); last != std::string::npos && last + 2 < cached.size())
      name = cached.substr(last + 2);
  }
  return name.empty() ? file.stem().string() : name;
}

/// Reads a bundled model or a config.json. `node` is its name in the job.
Result<llm::Transformer> find_model(const Node& node, const std::filesystem::path& folder) {
  auto bundled = llm::find_bundled_model(node.text());
  if (bundled.ok()) return bundled;
  const auto path = config_path(node.text(), folder);
  if (!path) return node.error(bundled.error().message);
  DOVETAIL_TRY(const base::Document document, read_config(node, *path));
  return llm::parse_config(document.root(), base::visible(name_of_config(*path)));
}

Node name_of(const Node& node) { return node.is_map() ? node.find("model").value_or(node) : node; }

/// Path of the config.json that the name at `node` refers to.
std::optional<std::string> named_config(const Node& node, const std::filesystem::path& folder) {
  if (!node.is_string() || llm::find_bundled_model(node.text()).ok()) return std::nullopt;
  return config_path(node.text(), folder);
}

}  // namespace

Result<llm::Transformer> read_model(const Node& node, std::string_view role, const std::filesystem::path& folder) {
  if (node.is_string()) return find_model(node, folder);
  if (!node.is_map())
    return node.error(
        fmt::format("the model of {} is {}; accepted: a bundled name, a folder with a config.json, the path of a "
                    "config.json, a map with its keys, or a map with `model` and `lora`",
                    base::quote(role), node.describe()));
  if (node.find("model_type")) return llm::parse_config(node, std::string(role));
  DOVETAIL_CHECK(base::check_keys(node, "a model", {"model", "lora"}));
  DOVETAIL_TRY(const Node named, base::require(node, "a model", "model", "model: llama-2-7b"));
  if (!named.is_string())
    return named.error(fmt::format(
        "the model of {} is {}; accepted: a bundled name, a folder with a config.json, or the path of a config.json",
        base::quote(role), named.describe()));
  DOVETAIL_TRY(llm::Transformer model, find_model(named, folder));
  if (const auto rank = node.find("lora")) {
    DOVETAIL_TRY(model.adapter_rank, base::read_integer(*rank, "`lora`", 1, max_adapter_rank));
  }
  return model;
}

Result<llm::Computation> read_computation(const Node& node, const llm::Transformer& shape,
                                          const std::filesystem::path& folder) {
  if (node.is_map() && node.find("model_type")) return llm::parse_computation(node, shape);
  const Node named = name_of(node);
  const auto path = named_config(named, folder);
  if (!path)
    return named.error(
        fmt::format("only the shape of the bundled model {} is known; accepted for a run: a folder with a config.json, "
                    "the path of a config.json, or a map with the keys of a config.json",
                    base::quote(named.text())));
  DOVETAIL_TRY(const base::Document document, read_config(named, *path));
  return llm::parse_computation(document.root(), shape);
}

std::string config_folder(const Node& node, const std::filesystem::path& folder) {
  if (node.is_map() && node.find("model_type")) return "";
  const auto path = named_config(name_of(node), folder);
  return path ? std::filesystem::path(*path).parent_path().string() : "";
}

}  // namespace dovetail::plan
