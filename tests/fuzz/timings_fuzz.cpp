// Parses measured times. Checks that the result is a valid problem that its file reproduces.
#include "fuzz.h"
#include "pipeline/problem/problem_file.h"
#include "pipeline/problem/timings.h"

namespace pipeline = dovetail::pipeline;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const pipeline::TimingsOptions options{.microbatches = {{"actor", 8}, {"critic", 4}, {"a", 1}}, .devices = {}};
  const auto timed = pipeline::problem_from_timings(dovetail::fuzz::as_text(data, size), "input", options);
  if (!timed.ok()) return 0;

  DOVETAIL_ASSERT(!pipeline::find_fault(timed->problem).has_value());
  for (const pipeline::TimingSpread& spread : timed->spread)
    DOVETAIL_ASSERT(spread.min <= spread.median && spread.median <= spread.max && spread.rows > 0);
  if (!dovetail::fuzz::is_small(timed->problem)) return 0;
  const auto again = pipeline::parse_problem(pipeline::problem_to_yaml(timed->problem), "yaml");
  DOVETAIL_ASSERT(again.ok() && *again == timed->problem);
  return 0;
}
