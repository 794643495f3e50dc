#include "trainers/areal/engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/assert.h"
#include "base/document.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

constexpr std::string_view mode_key = "allocation_mode";

base::Error at_key(const syntax::SettingTree& tree, const std::string& key, const std::string& value,
                   base::Error error) {
  return setting_error(tree, key, fmt::format("is {}: {}", base::quote(value), error.message));
}

/// The string of a role, where it has one.
base::Result<std::optional<std::string>> said_backend(const syntax::SettingTree& tree, const std::string& role) {
  DOVETAIL_TRY(auto said, optional_text(tree, role + ".backend"));
  if (said && said->empty()) said.reset();
  return said;
}

/// What `scheduling_strategy` says of a role: the role that it shares the GPUs of, one of `before`.
base::Result<std::string> target_of(const syntax::SettingTree& tree, const ArealEngine& engine,
                                    const std::vector<ArealEngine>& before) {
  const std::string type_key = engine.role + ".scheduling_strategy.type";
  const std::string target_key = engine.role + ".scheduling_strategy.target";
  DOVETAIL_TRY(const auto type, optional_text(tree, type_key));
  if (!type || *type == "separation") return std::string();
  if (*type != "colocation")
    return setting_error(tree, type_key, fmt::format("is {}; accepted: separation, colocation", base::quote(*type)));
  DOVETAIL_TRY(const auto target, optional_text(tree, target_key));
  const auto found = std::find_if(before.begin(), before.end(),
                                  [&](const ArealEngine& each) { return target && each.role == *target; });
  if (found == before.end()) {
    std::string roles;
    for (const ArealEngine& each : before) roles += fmt::format("{}{}", roles.empty() ? "" : ", ", each.role);
    return setting_error(
        tree, target ? target_key : type_key,
        fmt::format("is {}, and AReaL stops: no such engine is there before {}; accepted: {}",
                    target.value_or("colocation without a target"), engine.role, roles.empty() ? "separation" : roles));
  }
  // Workers are shared one to one: an engine that generates has one an instance, one that trains one a GPU.
  const auto workers = [](const ArealEngine& each) {
    return each.allocation.generates() ? std::int64_t{each.allocation.data} : each.allocation.devices();
  };
  if (workers(engine) != workers(*found))
    return setting_error(tree, engine.key,
                         fmt::format("has {} workers, and AReaL stops: {} has {}; accepted: as many", workers(engine),
                                     found->role, workers(*found)));
  return found->target.empty() ? found->role : found->target;
}

base::Status check_kind(const syntax::SettingTree& tree, const ArealEngine& engine) {
  const bool generates = engine.role == "rollout";
  if (engine.allocation.generates() == generates) return {};
  return setting_error(tree, engine.key,
                       fmt::format("is {}; accepted: {}", engine.allocation.backend,
                                   generates ? "sglang, vllm" : "fsdp, megatron, archon"));
}

/// The engines by one string for all: critic and reference are where the actor is.
base::Result<std::vector<ArealEngine>> engines_of_mode(const syntax::SettingTree& tree, const std::string& said,
                                                       const std::vector<std::string>& roles) {
  const std::string key(mode_key);
  auto mode = parse_areal_mode(said);
  if (!mode.ok()) return at_key(tree, key, said, std::move(mode).error());
  std::vector<ArealEngine> engines;
  for (const std::string& role : roles) {
    const bool generates = role == "rollout";
    const bool shares = generates ? mode->colocated : role != "actor";
    engines.push_back({.role = role,
                       .key = key,
                       .allocation = generates ? mode->rollout : mode->actor,
                       .target = shares ? "actor" : ""});
  }
  return engines;
}

base::Result<std::vector<ArealEngine>> engines_of_backends(const syntax::SettingTree& tree,
                                                           const std::vector<std::string>& roles, ImportedRun& run) {
  std::vector<ArealEngine> engines;
  for (const std::string& role : roles) {
    ArealEngine engine{.role = role, .key = role + ".backend", .allocation = {}, .target = {}};
    DOVETAIL_TRY(auto said, said_backend(tree, role));
    if (!said && (role == "critic" || role == "ref")) {
      run.assumed.push_back({engine.key, "not said: that of the actor", place_of(tree, role)});
      engine.allocation = engines.front().allocation;
    } else if (!said) {
      return setting_error(tree, engine.key,
                           fmt::format("is not given; accepted: {}",
                                       role == "rollout" ? "sglang:d4, vllm:d4t2" : "fsdp:d8, megatron:d2p2t2"));
    } else {
      auto read = parse_areal_backend(*said);
      if (!read.ok()) return at_key(tree, engine.key, *said, std::move(read).error());
      engine.allocation = *std::move(read);
    }
    DOVETAIL_CHECK(check_kind(tree, engine));
    DOVETAIL_TRY(engine.target, target_of(tree, engine, engines));
    engines.push_back(std::move(engine));
  }
  return engines;
}

}  // namespace

bool areal_has_role(const syntax::SettingTree& tree, const std::string& role) {
  const syntax::Setting* const found = find_setting(tree.root, role);
  return found != nullptr && found->kind == syntax::Setting::Kind::map;
}

base::Result<std::vector<ArealEngine>> areal_engines(const syntax::SettingTree& tree, ImportedRun& run) {
  std::vector<std::string> roles{"actor"};
  if (areal_has_role(tree, "critic")) roles.emplace_back("critic");
  if (run.reference) roles.emplace_back("ref");
  roles.emplace_back("rollout");
  DOVETAIL_TRY(const auto mode, optional_text(tree, mode_key));
  DOVETAIL_TRY(const auto actor, said_backend(tree, "actor"));
  DOVETAIL_TRY(const auto rollout, said_backend(tree, "rollout"));
  if (mode && !mode->empty()) {
    if (!actor && !rollout) return engines_of_mode(tree, *mode, roles);
    run.ignored.push_back({std::string(mode_key), "engines have a `backend` of their own", place_of(tree, mode_key)});
  }
  return engines_of_backends(tree, roles, run);
}

const ArealEngine& areal_engine_of(const std::vector<ArealEngine>& engines, std::string_view role) {
  const auto found =
      std::find_if(engines.begin(), engines.end(), [&](const ArealEngine& each) { return each.role == role; });
  DOVETAIL_ASSERT(found != engines.end());
  return *found;
}

bool areal_is_colocated(const std::vector<ArealEngine>& engines) {
  return areal_engine_of(engines, "rollout").target == "actor";
}

}  // namespace dovetail::trainers
