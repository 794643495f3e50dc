// Typed access to a tree of settings, and reports of settings that are not modeled. A value that is unknown before the
// script runs, or that has the wrong type, is an Error at its place. The message names the key.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

// Each optional_ function returns the value at `key`, or nullopt if the value is null or missing.
base::Result<std::optional<bool>> optional_flag(const syntax::SettingTree& tree, std::string_view key);
/// Returns an integer from -1 to 2^40.
base::Result<std::optional<std::int64_t>> optional_integer(const syntax::SettingTree& tree, std::string_view key);
base::Result<std::optional<double>> optional_number(const syntax::SettingTree& tree, std::string_view key);
base::Result<std::optional<std::string>> optional_text(const syntax::SettingTree& tree, std::string_view key);

// Each function that ends in _at returns the value at `key`, which must not be null or missing.
base::Result<bool> flag_at(const syntax::SettingTree& tree, std::string_view key);
base::Result<std::int64_t> integer_at(const syntax::SettingTree& tree, std::string_view key);
/// Returns an integer of at least 1.
base::Result<std::int64_t> count_at(const syntax::SettingTree& tree, std::string_view key);
/// Returns an integer of at least 1, or `otherwise` if the value is null or missing.
base::Result<std::int64_t> count_or(const syntax::SettingTree& tree, std::string_view key, std::int64_t otherwise);
base::Result<double> decimal_at(const syntax::SettingTree& tree, std::string_view key);
base::Result<std::string> text_at(const syntax::SettingTree& tree, std::string_view key);

/// Returns the place of the value at `key`; line 0 if it is missing.
syntax::Place place_of(const syntax::SettingTree& tree, std::string_view key);
/// Returns an Error at the value of `key`, with the message "`KEY` WHAT".
base::Error setting_error(const syntax::SettingTree& tree, std::string_view key, std::string_view what);

/// Joins two keys: "KEYS.NAME".
std::string key_below(std::string_view keys, std::string_view name);

/// Returns whether a line of the content starts with `key:`, as top-level members do in YAML.
bool has_top_key(std::string_view content, std::string_view key);

/// Unwraps a configuration saved by W&B, whose members have the form {desc: ..., value: ...}. Also removes W&B's own
/// members.
syntax::Setting without_wrapping(syntax::Setting root);

/// A setting that affects time or memory, and is modeled only for some of its values.
struct CheckedSetting {
  std::string_view key;
  std::string_view modelled;  ///< modeled values, separated by |; empty: none
  std::string_view what;      ///< how any other value is modeled, and its effect on the real run
};

/// Returns whether `value` is one of `values`, which are separated by |.
bool is_one_of(std::string_view value, std::string_view values);

/// Adds a Finding to `not_modelled` for each setting of the table whose value is not modeled. The keys of the table are
/// prefixed by `keys`. Returns an Error if a value is unknown before the script runs.
base::Status add_unmodeled(const syntax::SettingTree& tree, std::string_view keys,
                           std::span<const CheckedSetting> table, ImportedRun& run);

/// Adds a Finding to `not_modelled` for each setting below `key` that is set in a source and not listed in `read`.
/// `key` is a map that the trainer passes on unchanged.
void add_passed_on(const syntax::SettingTree& tree, const std::string& key, std::span<const std::string_view> read,
                   ImportedRun& run);

/// Returns an Error if `setting`, the value at `key`, is unknown before the script runs.
base::Status check_known(const syntax::SettingTree& tree, std::string_view key, const syntax::Setting& setting);

}  // namespace dovetail::trainers
