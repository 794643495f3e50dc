// Reads a FlexFusion trace, alone and as a schedule of exp0; the writer gives it back where the format can say it.
#include "fuzz.h"
#include "pipeline/flexfusion_trace.h"
#include "pipeline/instances.h"

namespace pipeline = dovetail::pipeline;

namespace {

void read_as(std::string_view content, const pipeline::Problem* problem) {
  const auto file = pipeline::parse_trace(content, "input", problem);
  if (!file.ok() || !dovetail::fuzz::is_small(file->schedule.problem)) return;

  const auto validates = !pipeline::validate(file->schedule, {pipeline::trace_activation_tolerance}).has_value();
  dovetail::fuzz::check_schedule(file->schedule, {pipeline::trace_activation_tolerance});
  if (!validates) return;
  const auto trace = pipeline::schedule_to_trace(file->schedule);
  if (!trace.ok()) return;
  const auto again = pipeline::parse_trace(*trace, "written", &file->schedule.problem);
  DOVETAIL_ASSERT(again.ok() && again->schedule.devices == file->schedule.devices);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content = dovetail::fuzz::as_text(data, size);
  read_as(content, nullptr);
  static const pipeline::Problem exp0 = pipeline::find_instance("exp0")->problem;
  read_as(content, &exp0);
  return 0;
}
