// GPUs of ROLL's roles, given by `device_mapping`, which ROLL evaluates as a Python expression.
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

/// Returns the integers that an expression lists, in the order of the expression. Accepts integers, `[...]`, `(...)`,
/// `range`, `list`, `+`, `-` and `*`. Returns an Error without location for any other expression, and for more than
/// max_devices numbers.
base::Result<std::vector<std::int64_t>> device_numbers(std::string_view expression);

/// Returns the GPUs given at `key`, as an expression or a list. Returns nullopt if the value is null, empty or missing.
/// Returns an Error at the key if device_numbers rejects the expression, or if the GPUs are not consecutive
/// numbers between 0 and max_devices - 1, because a mesh requires that.
base::Result<std::optional<cluster::Mesh>> device_mapping_at(const syntax::SettingTree& tree, const std::string& key);

/// Returns the role of the reward model that runs on GPUs: one of `rewards`, or the shared `reward_model`. Returns an
/// empty string if no reward model uses GPUs. Returns an Error if several do.
base::Result<std::string> roll_judge(const syntax::SettingTree& tree);

}  // namespace dovetail::trainers
