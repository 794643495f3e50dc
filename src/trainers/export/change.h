// What a plan needs of a trainer's configuration, setting by setting, in the trainer's own words.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::trainers {

/// One setting. Hydra's prefix says that it may be one that the configuration does not have: "++key".
struct Setter {
  std::string key;    ///< of a flag its name: "--ds.zero_stage"
  std::string value;  ///< as it is written: "4", "True"; empty: of a flag that takes none

  bool operator==(const Setter&) const = default;
};

/// A setting, and others without which the trainer stops at it or does not heed it.
struct Change {
  Setter set;
  std::vector<Setter> with = {};
  std::vector<std::string> without =
      {};                 ///< words of the command that go, by their names: the trainer would stop at them
  bool removes = false;   ///< the flag goes
  bool in_place = false;  ///< words of a script change where they stand, and are no words behind its own

  bool operator==(const Change&) const = default;
};

/// "True" and "False", as Python and Hydra have them; "true" and "false", as YAML has them.
std::string flag_text(bool value);
std::string yaml_flag(bool value);

/// Collects changes.
struct ChangeList {
  std::vector<Change> all = {};

  void set(std::string_view key, std::string value, std::vector<Setter> with = {});
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void set(std::string_view key, Number value, std::vector<Setter> with = {}) {
    set(key, std::to_string(value), std::move(with));
  }
  /// A flag that takes no value: it is there or goes.
  void turn(std::string_view flag, bool on, std::vector<Setter> with = {});
  /// A flag that goes with its value.
  void remove(std::string_view flag) { turn(flag, false); }
};

/// The settings of a change as words: "key=value", "--flag value", "without --flag", "without key".
std::vector<std::string> words_of(const Change& change);

/// `first` and then `second`, each setting once: the second has the last word.
std::vector<Change> joined(const std::vector<Change>& first, std::vector<Change> second);

/// A share or a number of the plan as files have it: "0.6", "4096".
std::string number_text(double value);

/// Megatron-LM's `recompute_granularity`: "null", "selective" or "full".
std::string megatron_granularity(llm::Recomputation recomputation);

/// Its `recompute_modules` where the granularity is selective: "[core_attn]" or "[moe]".
std::optional<std::string> megatron_modules(llm::Recomputation recomputation);

/// The part of the task of that name; null where the job has none.
const plan::TaskPlan* find_planned(const plan::Job& job, const plan::Plan& plan, std::string_view task);

}  // namespace dovetail::trainers
