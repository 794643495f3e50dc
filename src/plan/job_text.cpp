#include "plan/job_text.h"

#include <fmt/core.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/utf8.h"

namespace dovetail::plan {
namespace {

using base::Node;
using base::Result;

/// Returns the end of the scalar `text` that starts at `begin`.
std::size_t end_of_scalar(std::string_view content, std::size_t begin, std::string_view text) {
  const char quote = content[begin];
  if (quote != '"' && quote != '\'') return begin + text.size();
  std::size_t end = begin + 1;
  while (content[end] != quote) end += std::size_t{content[end] == '\\' && quote == '"' ? 2U : 1U};
  return end + 1;
}

/// Returns the number at `key` of the job's cluster. nullopt without a map or a number.
std::optional<Node> count_of(const Node& root, std::string_view key) {
  const auto cluster = root.find("cluster");
  const auto count = cluster && cluster->is_map() ? cluster->find(key) : std::nullopt;
  return count && count->is_number() ? count : std::nullopt;
}

namespace fs = std::filesystem;

constexpr std::string_view folder_key = "folder";

/// Returns `folder` as a path relative to `target`. Absolute if the path of `target` contains a link, because `target`
/// then has two paths.
std::string seen_from(const std::string& folder, const std::string& target) {
  const fs::path from = fs::absolute(target.empty() ? "." : target).lexically_normal() / "";
  const fs::path to = fs::absolute(folder.empty() ? "." : folder).lexically_normal();
  std::error_code error;
  const fs::path real = fs::weakly_canonical(from, error);
  if (error || real / "" != from) return to.string();
  return to.lexically_proximate(from).string();
}

}  // namespace

std::size_t offset_of(std::string_view content, int line, int column) {
  std::size_t begin = 0;
  for (int i = 1; i < line; ++i) begin = content.find('\n', begin) + 1;
  return begin + static_cast<std::size_t>(column - 1);
}

std::string with_scalar(std::string_view content, const Node& node, std::string_view value) {
  const std::size_t begin = offset_of(content, node.line(), node.column());
  std::string changed(content);
  return changed.replace(begin, end_of_scalar(content, begin, node.text()) - begin, value);
}

Result<std::string> job_on_devices(std::string_view content, const std::string& path, int devices) {
  std::string text(base::without_byte_order_mark(content));
  const std::pair<std::string_view, int> counts[] = {{"nodes", 1}, {"gpus_per_node", devices}};
  for (const auto& [key, count] : counts) {
    DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(text, path));
    const std::string value = std::to_string(count);
    const auto node = count_of(document.root(), key);
    if (node) text = with_scalar(text, *node, value);
    const auto changed = base::parse_yaml_or_json(text, path);
    const auto now = changed.ok() ? count_of(changed->root(), key) : std::nullopt;
    if (now && now->text() == value) continue;
    const Node place = node.value_or(document.root().find("cluster").value_or(document.root()));
    return place.error(fmt::format(
        "cannot change the number of devices in this job; accepted: `cluster: {{nodes: 1, gpus_per_node: {}, ...}}`",
        devices));
  }
  return text;
}

Result<std::string> read_job_folder(const Node& root, const std::string& path) {
  const fs::path own = fs::path(path).parent_path();
  const auto node = root.find(folder_key);
  if (!node) return own.string();
  if (!node->is_string() || node->text().empty())
    return node->error(fmt::format("`{}` is {}; accepted: the folder that relative paths of the job start from",
                                   folder_key, node->describe()));
  return (own / node->text()).lexically_normal().string();
}

Result<std::string> job_seen_from(std::string_view content, const std::string& path, const std::string& target) {
  content = base::without_byte_order_mark(content);
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, path));
  const Node root = document.root();
  DOVETAIL_TRY(const std::string folder, read_job_folder(root, path));
  const std::string value = base::json_string(seen_from(folder, target));
  std::string seen(content);
  if (const auto node = root.find(folder_key)) {
    seen = with_scalar(content, *node, value);
    const auto changed = base::parse_yaml_or_json(seen, path);
    if (changed.ok() && changed->root().find(folder_key) &&
        base::json_string(changed->root().find(folder_key)->text()) == value)
      return seen;
    return node->error(
        fmt::format("`{}` cannot be replaced in a copy of the job; accepted: one plain or quoted string", folder_key));
  }
  DOVETAIL_ASSERT(root.size() > 0);
  const auto offset_of_key = [&](std::size_t index) {
    return offset_of(content, root.key_node(index).line(), root.key_node(index).column());
  };
  const std::size_t before = content.substr(0, offset_of_key(0)).find_last_not_of(" \t\r\n");
  const bool is_flow = before != std::string_view::npos && content[before] == '{';
  // Insert after the first key, which is `format`, if there is another one.
  const std::size_t next = root.size() > 1 ? 1 : 0;
  const std::string indent(static_cast<std::size_t>(root.key_node(next).column() - 1), ' ');
  return seen.insert(offset_of_key(next), is_flow ? fmt::format("\"{}\": {}, ", folder_key, value)
                                                  : fmt::format("{}: {}\n{}", folder_key, value, indent));
}

}  // namespace dovetail::plan
