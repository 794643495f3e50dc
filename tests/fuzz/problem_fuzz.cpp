// Parses a problem. Checks that it is valid, and that both writers reproduce it.
#include "fuzz.h"
#include "pipeline/problem/problem_file.h"
#include "pipeline/schedule/op_graph.h"

namespace pipeline = dovetail::pipeline;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto problem = pipeline::parse_problem(dovetail::fuzz::as_text(data, size), "input");
  if (!problem.ok()) {
    DOVETAIL_ASSERT(!problem.error().message.empty());
    return 0;
  }
  DOVETAIL_ASSERT(!pipeline::find_fault(*problem).has_value());
  if (!dovetail::fuzz::is_small(*problem)) return 0;

  const auto from_yaml = pipeline::parse_problem(pipeline::problem_to_yaml(*problem), "yaml");
  DOVETAIL_ASSERT(from_yaml.ok() && *from_yaml == *problem);
  const auto from_json = pipeline::parse_problem(pipeline::problem_to_json(*problem), "json");
  DOVETAIL_ASSERT(from_json.ok() && *from_json == *problem);

  const pipeline::Lowering lowering = pipeline::lower(*problem, pipeline::BackwardForm::split);
  DOVETAIL_ASSERT(pipeline::topological_order(lowering.graph).size() == lowering.graph.size());
  return 0;
}
