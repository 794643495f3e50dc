#include <fmt/core.h>

#include <array>
#include <utility>

#include "base/document.h"
#include "syntax/files.h"
#include "trainers/areal/areal.h"

namespace dovetail::trainers {
namespace {

/// Sections whose values a critic takes from the actor by default.
constexpr std::array<std::string_view, 5> shared_parts{"mb_spec", "fsdp", "archon", "megatron", "scheduling_strategy"};

bool is_map(const syntax::Setting& root, std::string_view name) {
  const syntax::Setting* const found = find_member(root, name);
  return found != nullptr && found->kind == syntax::Setting::Kind::map;
}

/// Returns the defaults for a configuration, limited to the roles that it has.
base::Result<syntax::Setting> defaults_of(const syntax::Setting& root) {
  DOVETAIL_TRY(syntax::Setting defaults, areal_defaults());
  const syntax::Setting actor = *find_member(defaults, "actor");
  if (is_map(root, "ref")) put_setting(defaults, "ref", actor);
  if (!is_map(root, "critic")) remove_setting(defaults, "critic");
  return defaults;
}

/// Blanks out the Python tuple tags in a configuration saved by AReaL, so tuples are read as lists. Places do not
/// change.
std::string without_tuple_tags(std::string content) {
  constexpr std::string_view tag = "!!python/tuple";
  for (std::size_t at = content.find(tag); at != std::string::npos; at = content.find(tag, at))
    content.replace(at, tag.size(), tag.size(), ' ');
  return content;
}

const BaseFiles areal_files{
    .version = areal_version, .bundled = nullptr, .has_no_effect = nullptr, .defaults = defaults_of};

}  // namespace

base::Result<syntax::Setting> areal_defaults() {
  const std::string_view content = areal_ppo_defaults();
  DOVETAIL_TRY(const base::Document document,
               base::parse_yaml_or_json(std::string(content), std::string(areal_version)));
  DOVETAIL_TRY(syntax::Setting defaults, syntax::setting_of(document, content, 0));
  const syntax::Setting actor = *find_member(defaults, "actor");
  for (const std::string_view part : shared_parts)
    put_setting(defaults, fmt::format("critic.{}", part), *find_member(actor, part));
  return defaults;
}

bool is_areal_entry(const syntax::EntryPoint& entry) {
  return entry.is_module &&
         (entry.name.starts_with("areal.infra.launcher.") || entry.name.starts_with("areal.launcher."));
}

bool may_be_areal_entry(const syntax::EntryPoint& entry) {
  return !entry.is_module && entry.has_configuration && entry.name.ends_with(".py");
}

base::Result<ComposedSettings> areal_settings_of_launch(const syntax::Launch& launch,
                                                        const std::vector<std::string>& sources,
                                                        const RunRequest& request) {
  DOVETAIL_TRY(const LaunchFile named, launch_file(launch, sources, "--config"));
  if (named.path.empty())
    return place_error(sources, launch.place,
                       fmt::format("{} needs a configuration file; accepted: --config FILE", launch.entry.name));
  return composed_of_launch(areal_files, launch, named, sources, request);
}

base::Result<ComposedSettings> areal_settings_of_file(const ConfigurationFile& file, const RunRequest& request) {
  ConfigurationFile read = file;
  read.content = without_tuple_tags(std::move(read.content));
  return composed_of_file(areal_files, read, request);
}

}  // namespace dovetail::trainers
