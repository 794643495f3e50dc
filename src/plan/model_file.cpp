#include "plan/model_file.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/utf8.h"
#include "llm/bundled_models.h"
#include "llm/huggingface_config.h"

namespace dovetail::plan {
namespace {

using base::Node;
using base::Result;

constexpr std::int64_t max_adapter_rank = 1 << 14;

/// A bundled model, or that of a config.json. `node` is where the job names it.
Result<llm::Transformer> find_model(const Node& node, const std::filesystem::path& folder) {
  const std::string name(node.text());
  auto bundled = llm::find_bundled_model(name);
  if (bundled.ok()) return bundled;
  if (!name.ends_with(".json")) return node.error(bundled.error().message);
  const std::string path = (folder / name).lexically_normal().string();
  const auto content = base::read_file(path);
  if (!content.ok()) {
    base::Error error = node.error(base::to_text(content.error()));
    error.failure = content.error().failure;
    return error;
  }
  DOVETAIL_TRY(const base::Document document, base::parse_json(*content, path));
  const std::filesystem::path file(path);
  const std::string folder_name = file.parent_path().filename().string();
  return llm::parse_config(document.root(), base::visible(folder_name.empty() ? file.stem().string() : folder_name));
}

}  // namespace

Result<llm::Transformer> read_model(const Node& node, std::string_view role, const std::filesystem::path& folder) {
  if (node.is_string()) return find_model(node, folder);
  if (!node.is_map())
    return node.error(
        fmt::format("the model of {} is {}; accepted: a bundled name, the path of a config.json, or a map",
                    base::quote(role), node.describe()));
  if (node.find("model_type")) return llm::parse_config(node, std::string(role));
  DOVETAIL_CHECK(base::check_keys(node, "a model", {"model", "lora"}));
  DOVETAIL_TRY(const Node named, base::require(node, "a model", "model", "model: llama-2-7b"));
  if (!named.is_string())
    return named.error(fmt::format("the model of {} is {}; accepted: a bundled name or the path of a config.json",
                                   base::quote(role), named.describe()));
  DOVETAIL_TRY(llm::Transformer model, find_model(named, folder));
  if (const auto rank = node.find("lora")) {
    DOVETAIL_TRY(model.adapter_rank, base::read_whole(*rank, "`lora`", 1, max_adapter_rank));
  }
  return model;
}

}  // namespace dovetail::plan
