// Parses a schedule. Checks that the writer reproduces it, and that the validator and the evaluator accept it as input.
#include "fuzz.h"
#include "pipeline/formats/schedule_file.h"

namespace pipeline = dovetail::pipeline;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = pipeline::parse_schedule(dovetail::fuzz::as_text(data, size), "input");
  if (!file.ok() || !dovetail::fuzz::is_small(file->schedule.problem)) return 0;

  const auto again = pipeline::parse_schedule(pipeline::schedule_to_json(file->schedule), "written");
  DOVETAIL_ASSERT(again.ok() && again->schedule == file->schedule);
  dovetail::fuzz::check_schedule(file->schedule);
  return 0;
}
