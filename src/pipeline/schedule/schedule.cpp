#include "pipeline/schedule/schedule.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "base/assert.h"

namespace dovetail::pipeline {
namespace {

constexpr std::array<std::pair<StoppedBy, std::string_view>, 4> stop_names{{
    {StoppedBy::bound, "bound"},
    {StoppedBy::iterations, "iterations"},
    {StoppedBy::time, "time"},
    {StoppedBy::interrupt, "interrupt"},
}};

}  // namespace

std::string_view name_of(StoppedBy stopped_by) {
  for (const auto& [value, name] : stop_names)
    if (value == stopped_by) return name;
  DOVETAIL_ASSERT(false);
}

std::optional<StoppedBy> stopped_by_named(std::string_view name_wanted) {
  for (const auto& [value, name] : stop_names)
    if (name == name_wanted) return value;
  return std::nullopt;
}

std::string short_name(const OpLabel& label) {
  return fmt::format("{}{}{}", label.stage.value, letter_of(label.kind), label.microbatch.value);
}

std::string describe(const Problem& problem, const OpLabel& label) {
  return fmt::format("{}{} of {} stage {}", letter_of(label.kind), label.microbatch.value,
                     pipeline_name(problem, {label.model, label.replica}), label.stage.value);
}

}  // namespace dovetail::pipeline
