// Settings that change time or memory and that jobs and plans do not have.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// A setting of which one value is modelled.
struct Watched {
  std::string_view key;
  std::string_view modelled;  ///< the values, with | between them; empty: none
  std::string_view what;      ///< what another value means for the answer
};

/// Whether a value is one of those with | between them.
bool is_one_of(std::string_view value, std::string_view values);

/// Adds a Finding to the run's `not_modelled` for each setting of the table that is there with another value than those
/// that are modelled; `keys` stands before each key of the table. An Error where only running would tell a value.
base::Status watch(const syntax::SettingTree& tree, std::string_view keys, std::span<const Watched> table,
                   ImportedRun& run);

/// Adds a Finding to `not_modelled` for each setting below `key` that somebody wrote and that is none of `read`: a
/// trainer hands such a map on as it is.
void watch_handed_on(const syntax::SettingTree& tree, const std::string& key, std::span<const std::string_view> read,
                     ImportedRun& run);

/// An Error where only running would tell the value.
base::Status check_known(const syntax::SettingTree& tree, std::string_view key, const syntax::Setting& setting);

}  // namespace dovetail::trainers
