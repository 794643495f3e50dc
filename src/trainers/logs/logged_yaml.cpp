#include "trainers/logs/logged_yaml.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dovetail::trainers {
namespace {

std::vector<std::string_view> lines_of(std::string_view content) {
  std::vector<std::string_view> lines;
  while (!content.empty()) {
    std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(line.size() + 1, content.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
  }
  return lines;
}

bool begins_member(std::string_view line, std::string_view key) {
  return line.starts_with(key) && line.substr(key.size()).starts_with(':');
}

/// Whether a line may be one of a map in YAML: within a member, or the beginning of one.
bool is_yaml(std::string_view line) {
  if (line.starts_with("  ") || line.starts_with("- ")) return line.find_first_not_of(' ') != std::string_view::npos;
  const auto of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const auto name_end = std::find_if_not(line.begin(), line.end(), of_name);
  const std::string_view rest = line.substr(static_cast<std::size_t>(name_end - line.begin()));
  return rest.size() < line.size() && (rest == ":" || rest.starts_with(": "));
}

bool is_logged(std::string_view line) {
  return line.starts_with("[20") && line.find("] [INFO] [") != std::string_view::npos;
}

}  // namespace

std::optional<std::string> yaml_of_log(std::string_view content, std::string_view key) {
  const std::vector<std::string_view> lines = lines_of(content);
  const auto member =
      std::find_if(lines.begin(), lines.end(), [key](std::string_view line) { return begins_member(line, key); });
  if (std::none_of(member, lines.end(), is_logged)) return std::nullopt;
  auto begin = member;
  while (begin != lines.begin() && is_yaml(*(begin - 1))) --begin;
  const auto end = std::find_if_not(member, lines.end(), is_yaml);
  std::string yaml(static_cast<std::size_t>(begin - lines.begin()), '\n');
  for (auto line = begin; line != end; ++line) (yaml += *line) += '\n';
  return yaml;
}

}  // namespace dovetail::trainers
