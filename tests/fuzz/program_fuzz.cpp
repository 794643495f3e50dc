// Parses a rank's program. Checks that the writer reproduces it, and runs the checker on it.
#include "fuzz.h"
#include "pipeline/program/check.h"
#include "pipeline/program/program.h"

namespace pipeline = dovetail::pipeline;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = pipeline::parse_program(dovetail::fuzz::as_text(data, size), "input");
  if (!file.ok()) return 0;

  for (const pipeline::Delivery delivery : pipeline::deliveries) (void)pipeline::check({&file->program, 1}, delivery);
  const auto again = pipeline::parse_program(pipeline::program_to_json(file->program), "written");
  DOVETAIL_ASSERT(again.ok() && again->program == file->program);
  return 0;
}
