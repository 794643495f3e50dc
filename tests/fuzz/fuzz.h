// What the fuzz targets share. A target is one function over arbitrary bytes that must return, whatever they are;
// libFuzzer calls it with inputs that it invents, replay.cpp with those of the files that it is given.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace dovetail::fuzz {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A few bytes can ask for millions of ops, which are no fault but take seconds; what is done with all ops of a problem
/// is done up to this many, so that a run is no timeout.
inline constexpr std::int64_t max_ops = 20'000;

/// Devices without ops cost time and memory too.
inline bool is_small(const pipeline::Problem& problem) {
  return pipeline::count_ops(problem) <= max_ops && problem.devices <= 1'000;
}

/// Where the validator finds nothing, the evaluator takes the schedule, and its makespan is the last end in the file.
inline void check_schedule(const pipeline::Schedule& schedule, pipeline::Tolerance tolerance = {}) {
  if (pipeline::validate(schedule, tolerance).has_value()) return;
  const pipeline::LoweredSchedule lowered = pipeline::evaluate(schedule);
  base::Ticks last_end;
  for (const auto& device : schedule.devices)
    for (const pipeline::ScheduledOp& op : device) last_end = std::max(last_end, op.end);
  DOVETAIL_ASSERT(lowered.evaluation.makespan == last_end);
}

}  // namespace dovetail::fuzz
