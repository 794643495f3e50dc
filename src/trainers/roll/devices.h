// Which GPUs a role of ROLL is on: `device_mapping`, which ROLL evaluates as an expression of Python.
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

/// The whole numbers that an expression lists, in its order: of whole numbers, `[...]`, `(...)`, `range`, `list`, `+`,
/// `-` and `*`. An Error without a place for any other expression, and for more numbers than a run may have GPUs.
base::Result<std::vector<std::int64_t>> device_numbers(std::string_view expression);

/// The GPUs at `key`, an expression or a list; nothing where it is null, empty or not there. An Error at the key where
/// it is no expression that device_numbers reads, or where the GPUs do not follow each other, which no mesh says.
base::Result<std::optional<cluster::Mesh>> device_mapping_at(const syntax::SettingTree& tree, const std::string& key);

/// The role that judges by a model on GPUs: one of `rewards`, or the shared `reward_model`; empty: none does. An Error
/// where several do.
base::Result<std::string> roll_judge(const syntax::SettingTree& tree);

}  // namespace dovetail::trainers
