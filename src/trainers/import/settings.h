// Values of a tree of settings, as what they have to be. What is not known without running, and a value of another
// kind, is an Error at its place that names the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "syntax/tree.h"

namespace dovetail::trainers {

// Each reads the value at `key`; nothing where it is null or not there.
base::Result<std::optional<bool>> optional_flag(const syntax::SettingTree& tree, std::string_view key);
/// A whole number from -1 to 2^40.
base::Result<std::optional<std::int64_t>> optional_whole(const syntax::SettingTree& tree, std::string_view key);
base::Result<std::optional<double>> optional_number(const syntax::SettingTree& tree, std::string_view key);
base::Result<std::optional<std::string>> optional_text(const syntax::SettingTree& tree, std::string_view key);

// The same of a value that must be there: nothing is an Error.
base::Result<bool> flag_at(const syntax::SettingTree& tree, std::string_view key);
base::Result<std::int64_t> whole_at(const syntax::SettingTree& tree, std::string_view key);
/// A whole number of at least 1.
base::Result<std::int64_t> count_at(const syntax::SettingTree& tree, std::string_view key);
/// The same, but `otherwise` where it is null or not there.
base::Result<std::int64_t> count_or(const syntax::SettingTree& tree, std::string_view key, std::int64_t otherwise);
base::Result<double> decimal_at(const syntax::SettingTree& tree, std::string_view key);
base::Result<std::string> text_at(const syntax::SettingTree& tree, std::string_view key);

/// Where the value was written; line 0 where there is none.
syntax::Place place_of(const syntax::SettingTree& tree, std::string_view key);
/// An Error at the value of `key`: "`KEY` WHAT".
base::Error setting_error(const syntax::SettingTree& tree, std::string_view key, std::string_view what);

/// "KEYS.NAME".
std::string key_below(std::string_view keys, std::string_view name);

}  // namespace dovetail::trainers
