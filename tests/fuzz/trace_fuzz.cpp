// Parses a FlexFusion trace, alone and as a schedule of exp0. Checks that the writer reproduces it if the format can
// express it.
#include <algorithm>
#include <vector>

#include "fuzz.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/instances.h"

namespace pipeline = dovetail::pipeline;

namespace {

/// Returns the ops in the writer's order; a parsed trace may have any order.
std::vector<std::vector<pipeline::ScheduledOp>> by_start(std::vector<std::vector<pipeline::ScheduledOp>> devices) {
  for (auto& ops : devices)
    std::sort(ops.begin(), ops.end(),
              [](const pipeline::ScheduledOp& a, const pipeline::ScheduledOp& b) { return a.start < b.start; });
  return devices;
}

void read_as(std::string_view content, const pipeline::Problem* problem) {
  const auto file = pipeline::parse_trace(content, "input", problem);
  if (!file.ok() || !dovetail::fuzz::is_small(file->schedule.problem)) return;

  const auto validates = !pipeline::validate(file->schedule, {pipeline::trace_activation_tolerance}).has_value();
  dovetail::fuzz::check_schedule(file->schedule, {pipeline::trace_activation_tolerance});
  if (!validates) return;
  const auto trace = pipeline::schedule_to_trace(file->schedule);
  if (!trace.ok()) return;
  const auto again = pipeline::parse_trace(*trace, "written", &file->schedule.problem);
  DOVETAIL_ASSERT(again.ok() && again->schedule.devices == by_start(file->schedule.devices));
  DOVETAIL_ASSERT(!again->activation_mismatch.has_value());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content = dovetail::fuzz::as_text(data, size);
  read_as(content, nullptr);
  static const pipeline::Problem exp0 = pipeline::find_instance("exp0")->problem;
  read_as(content, &exp0);
  return 0;
}
