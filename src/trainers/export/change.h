// Changes to a trainer's settings that make it run a plan, and comparisons of plans and jobs.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::trainers {

/// A setting and its value. Hydra's prefix ("++key") allows keys that the configuration lacks.
struct Setter {
  std::string key;    ///< key, or name of a flag: "--ds.zero_stage"
  std::string value;  ///< value as written: "4", "True"; empty for a flag without a value

  bool operator==(const Setter&) const = default;
};

/// A new value of a setting, with the other settings that the trainer requires for it.
struct Change {
  Setter set;
  std::vector<Setter> with = {};
  std::vector<std::string> without = {};  ///< names of words to remove, because the trainer would reject them
  bool removes = false;                   ///< remove the flag `set`
  bool in_place = false;                  ///< edit words of the script in place instead of adding words at the end

  bool operator==(const Change&) const = default;
};

/// Formats a boolean for Python and Hydra: "True", "False".
std::string flag_text(bool value);
/// Formats a boolean for YAML: "true", "false".
std::string yaml_flag(bool value);

/// Builds a list of changes, one for each setting or flag.
struct ChangeList {
  std::vector<Change> all = {};

  void set(std::string_view key, std::string value, std::vector<Setter> with = {});
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void set(std::string_view key, Number value, std::vector<Setter> with = {}) {
    set(key, std::to_string(value), std::move(with));
  }
  /// Adds a flag without a value if `on`. Otherwise removes the flag.
  void set_flag(std::string_view flag, bool on, std::vector<Setter> with = {});
  /// Removes a flag and its value.
  void remove(std::string_view flag) { set_flag(flag, false); }
};

/// Returns a change as words for a command line or for messages: "key=value", "--flag value", "without --flag",
/// "without key".
std::vector<std::string> arguments_of(const Change& change);

/// Concatenates lists of changes. If both lists set the same key, `second` wins.
std::vector<Change> joined(const std::vector<Change>& first, std::vector<Change> second);

/// Formats a number without rounding: "0.6", "4096".
std::string number_text(double value);

/// Returns Megatron-LM's `recompute_granularity`: "null", "selective" or "full".
std::string megatron_granularity(llm::Recomputation recomputation);

/// Returns Megatron-LM's `recompute_modules`: "[core_attn]" or "[moe]". Returns nullopt unless the granularity is
/// selective.
std::optional<std::string> megatron_modules(llm::Recomputation recomputation);

/// Returns the plan of the task with this name, or null if the job has no such task.
const plan::TaskPlan* find_planned(const plan::Job& job, const plan::Plan& plan, std::string_view task);

/// Returns whether two plans run the tasks of the job in the same way. They may differ in settings that have no effect.
bool run_equally(const plan::Job& job, const plan::Plan& a, const plan::Plan& b);

/// Returns an Error that shows the requested and the resulting settings of each task that differs.
base::Error inexpressible(std::string_view trainer, const plan::Job& job, const plan::Plan& requested,
                          const plan::Plan& actual);

/// Compares the requested job with the job that a configuration runs: tasks, models, batches, off-policy steps,
/// packing, length caps and number of devices. Describes the first difference ("different batches"). Returns nullopt if
/// these are equal.
std::optional<std::string> difference_of(const plan::Job& requested, const plan::Job& actual);

}  // namespace dovetail::trainers
