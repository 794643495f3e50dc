#include "trainers/roll/types.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "trainers/import/role_training.h"
#include "trainers/import/settings.h"
#include "trainers/import/watched.h"
#include "trainers/roll/layouts.h"
#include "trainers/roll/settings.h"

namespace dovetail::trainers {
namespace {

/// FSDP keeps what it trains in the type of its weights; Megatron's types are those of the conventions.
base::Result<RoleTypes> roll_types(const syntax::SettingTree& tree, const std::string& role, int devices) {
  RoleTypes types;
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, role, RollUse::trains));
  if (backend != RollBackend::fsdp2) return types;
  const std::string size_key = roll_strategy_key(role) + ".fsdp_size";
  DOVETAIL_TRY(const std::int64_t size, roll_count(tree, size_key, 1));
  if (size > 1 && size < devices) {
    types.types.shard_group = static_cast<int>(size);
    types.otherwise.push_back({size_key,
                               fmt::format("{}: shard groups: counted as if all {} GPUs shared one; the real run holds "
                                           "more",
                                           size, devices),
                               place_of(tree, size_key)});
  }
  const std::string key = roll_strategy_key(role) + ".param_dtype";
  DOVETAIL_TRY(const auto said, optional_text(tree, key));
  if (!said || is_one_of(*said, "fp32|float32")) return types;
  if (const auto type = state_type(*said))
    types.types.weight_type = types.types.gradient_type = types.types.moment_type = *type;
  types.otherwise.push_back({key,
                             *said + ": weights and moments are kept in it: counted in fp32, the real run holds less",
                             place_of(tree, key)});
  if (types.types.weight_type == plan::StateType::usual)
    return setting_error(tree, key, fmt::format("is {}; accepted: fp32, bf16, fp16", *said));
  return types;
}

}  // namespace

base::Status add_roll_types(const syntax::SettingTree& tree, int actors, int critics, ImportedRun& run) {
  std::vector<RoleTypes> roles;
  DOVETAIL_TRY(roles.emplace_back(), roll_types(tree, "actor_train", actors));
  if (critics > 0) {
    DOVETAIL_TRY(roles.emplace_back(), roll_types(tree, "critic", critics));
  }
  take_types(roles, run);
  return {};
}

}  // namespace dovetail::trainers
