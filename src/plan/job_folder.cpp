#include "plan/job_folder.h"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>

#include "base/assert.h"
#include "base/utf8.h"
#include "plan/job_text.h"

namespace dovetail::plan {
namespace {

namespace fs = std::filesystem;
using base::Node;
using base::Result;

constexpr std::string_view key = "folder";

/// `folder` as a file in `target` names it: relative, but for a target behind a link, which has two paths.
std::string seen_from(const std::string& folder, const std::string& target) {
  const fs::path from = fs::absolute(target.empty() ? "." : target).lexically_normal() / "";
  const fs::path to = fs::absolute(folder.empty() ? "." : folder).lexically_normal();
  std::error_code error;
  const fs::path real = fs::weakly_canonical(from, error);
  if (error || real / "" != from) return to.string();
  return to.lexically_proximate(from).string();
}

}  // namespace

Result<std::string> read_job_folder(const Node& root, const std::string& path) {
  const fs::path own = fs::path(path).parent_path();
  const auto node = root.find(key);
  if (!node) return own.string();
  if (!node->is_string() || node->text().empty())
    return node->error(
        fmt::format("`{}` is {}; accepted: the folder in which the paths of the job begin", key, node->describe()));
  return (own / node->text()).lexically_normal().string();
}

Result<std::string> job_seen_from(std::string_view content, const std::string& path, const std::string& target) {
  content = base::without_byte_order_mark(content);
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, path));
  const Node root = document.root();
  DOVETAIL_TRY(const std::string folder, read_job_folder(root, path));
  const std::string said = base::json_string(seen_from(folder, target));
  std::string seen(content);
  if (const auto node = root.find(key)) {
    seen = with_scalar(content, *node, said);
    const auto changed = base::parse_yaml_or_json(seen, path);
    if (changed.ok() && changed->root().find(key) && base::json_string(changed->root().find(key)->text()) == said)
      return seen;
    return node->error(
        fmt::format("`{}` cannot be said anew in a copy of the job; accepted: one plain or quoted text", key));
  }
  DOVETAIL_ASSERT(root.size() > 0);
  const auto offset_of_key = [&](std::size_t index) {
    return offset_of(content, root.key_node(index).line(), root.key_node(index).column());
  };
  const std::size_t before = content.substr(0, offset_of_key(0)).find_last_not_of(" \t\r\n");
  const bool is_flow = before != std::string_view::npos && content[before] == '{';
  // Behind the first key, which is `format`, where there is another one.
  const std::size_t next = root.size() > 1 ? 1 : 0;
  const std::string indent(static_cast<std::size_t>(root.key_node(next).column() - 1), ' ');
  return seen.insert(offset_of_key(next),
                     is_flow ? fmt::format("\"{}\": {}, ", key, said) : fmt::format("{}: {}\n{}", key, said, indent));
}

}  // namespace dovetail::plan
