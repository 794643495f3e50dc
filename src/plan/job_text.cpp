#include "plan/job_text.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/utf8.h"

namespace dovetail::plan {
namespace {

using base::Node;
using base::Result;

/// Where the scalar `text` ends that is written from `begin` on.
std::size_t end_of_scalar(std::string_view content, std::size_t begin, std::string_view text) {
  const char quote = content[begin];
  if (quote != '"' && quote != '\'') return begin + text.size();
  std::size_t end = begin + 1;
  while (content[end] != quote) end += std::size_t{content[end] == '\\' && quote == '"' ? 2U : 1U};
  return end + 1;
}

/// The number at `key` of the job's cluster.
std::optional<Node> count_of(const Node& root, std::string_view key) {
  const auto cluster = root.find("cluster");
  const auto count = cluster && cluster->is_map() ? cluster->find(key) : std::nullopt;
  return count && count->is_number() ? count : std::nullopt;
}

}  // namespace

std::size_t offset_of(std::string_view content, int line, int column) {
  std::size_t begin = 0;
  for (int i = 1; i < line; ++i) begin = content.find('\n', begin) + 1;
  return begin + static_cast<std::size_t>(column - 1);
}

std::string with_scalar(std::string_view content, const Node& node, std::string_view said) {
  const std::size_t begin = offset_of(content, node.line(), node.column());
  std::string changed(content);
  return changed.replace(begin, end_of_scalar(content, begin, node.text()) - begin, said);
}

Result<std::string> job_on_devices(std::string_view content, const std::string& path, int devices) {
  std::string text(base::without_byte_order_mark(content));
  const std::pair<std::string_view, int> counts[] = {{"nodes", 1}, {"gpus_per_node", devices}};
  for (const auto& [key, count] : counts) {
    DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(text, path));
    const std::string said = std::to_string(count);
    const auto node = count_of(document.root(), key);
    if (node) text = with_scalar(text, *node, said);
    const auto changed = base::parse_yaml_or_json(text, path);
    const auto now = changed.ok() ? count_of(changed->root(), key) : std::nullopt;
    if (now && now->text() == said) continue;
    const Node place = node.value_or(document.root().find("cluster").value_or(document.root()));
    return place.error(fmt::format(
        "the job's devices cannot be said anew; accepted: `cluster: {{nodes: 1, gpus_per_node: {}, ...}}`", devices));
  }
  return text;
}

}  // namespace dovetail::plan
