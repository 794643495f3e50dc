// Parses a PyTorch pipelining CSV with an inferred problem. Checks that both writers reproduce its order.
#include "fuzz.h"
#include "pipeline/formats/schedule_file.h"

namespace pipeline = dovetail::pipeline;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = pipeline::parse_pytorch_csv(dovetail::fuzz::as_text(data, size), "input", nullptr);
  if (!file.ok() || !dovetail::fuzz::is_small(file->schedule.problem)) return 0;

  // The earliest start times of an order are always valid.
  DOVETAIL_ASSERT(!pipeline::validate(file->schedule).has_value());
  dovetail::fuzz::check_schedule(file->schedule);
  for (const auto actions : {pipeline::CsvActions::compute_only, pipeline::CsvActions::compute_comms}) {
    const auto files = pipeline::schedule_to_pytorch_csv(file->schedule, actions);
    DOVETAIL_ASSERT(files.ok() && files->size() == 1);
    const auto again = pipeline::parse_pytorch_csv(files->front().content, "written", &file->schedule.problem);
    DOVETAIL_ASSERT(again.ok() && again->schedule.devices == file->schedule.devices);
  }
  return 0;
}
