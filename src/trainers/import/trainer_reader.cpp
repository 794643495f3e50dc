#include "trainers/import/trainer_reader.h"

#include <algorithm>

namespace dovetail::trainers {

bool has_top_key(std::string_view content, std::string_view key) {
  while (!content.empty()) {
    const std::string_view line = content.substr(0, content.find('\n'));
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ':') return true;
    content.remove_prefix(std::min(line.size() + 1, content.size()));
  }
  return false;
}

syntax::Setting without_wrapping(syntax::Setting root) {
  std::erase_if(root.members,
                [](const auto& member) { return member.first.starts_with("_") || member.first == "wandb_version"; });
  for (auto& [name, setting] : root.members)
    if (syntax::Setting* const value = find_member(setting, "value")) setting = syntax::Setting(*value);
  return root;
}

}  // namespace dovetail::trainers
