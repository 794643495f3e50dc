// GPUs of ROLL's roles: `device_mapping`, which ROLL evaluates as a Python expression.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/mesh.h"
#include "syntax/tree.h"

namespace dovetail::trainers {

/// Integers listed by an expression, in its order. Accepts integers, `[...]`, `(...)`, `range`, `list`, `+`, `-` and
/// `*`. Fails without a place for any other expression, and for more than max_devices numbers.
base::Result<std::vector<std::int64_t>> device_numbers(std::string_view expression);

/// GPUs given at `key`, as an expression or a list. nullopt if the value is null, empty or absent. Fails at the key if
/// device_numbers does not accept the expression, or if the GPUs are not consecutive and so form no mesh.
base::Result<std::optional<cluster::Mesh>> device_mapping_at(const syntax::SettingTree& tree, const std::string& key);

/// Role of the reward model that runs on GPUs: one of `rewards`, or the shared `reward_model`. Empty if no model judges
/// on GPUs. Fails if there are several.
base::Result<std::string> roll_judge(const syntax::SettingTree& tree);

}  // namespace dovetail::trainers
