// Shared code of the fuzz targets. A target is a function that must return for arbitrary bytes. libFuzzer calls it with
// generated inputs, replay.cpp with inputs from files.
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

/// A few bytes can define millions of ops, which is valid but takes seconds. Work on all ops of a problem is limited to
/// this many to avoid timeouts.
inline constexpr std::int64_t max_ops = 20'000;

/// Devices without ops cost time and memory as well.
inline bool is_small(const pipeline::Problem& problem) {
  return pipeline::count_ops(problem) <= max_ops && problem.devices <= 1'000;
}

/// Checks that the evaluator accepts every valid schedule, and that its makespan is the last end in the file.
inline void check_schedule(const pipeline::Schedule& schedule, pipeline::Tolerance tolerance = {}) {
  if (pipeline::validate(schedule, tolerance).has_value()) return;
  const pipeline::LoweredSchedule lowered = pipeline::evaluate(schedule);
  base::Ticks last_end;
  for (const auto& device : schedule.devices)
    for (const pipeline::ScheduledOp& op : device) last_end = std::max(last_end, op.end);
  DOVETAIL_ASSERT(lowered.evaluation.makespan == last_end);
}

}  // namespace dovetail::fuzz
